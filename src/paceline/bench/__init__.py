"""The conductor: plan, run, supervise, progress. It never measures a step itself and never imports a framework."""
