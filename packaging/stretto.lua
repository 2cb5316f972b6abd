-- Module file of Stretto for Lmod; tools/install.sh fills in the paths.
help([[Makes MPI collectives faster, without changes to the application.
  stretto diagnose -- mpirun -n 64 ./app     where the time goes
  stretto run -- mpirun -n 64 ./app          runs the job with the tables of the site
man stretto lists the commands.]])
whatis("Name: stretto")
whatis("Version: @VERSION@")
whatis("Description: Makes MPI collectives faster, without changes to the application")
conflict("stretto")
prepend_path("PATH", "@PREFIX@/bin")
prepend_path("MANPATH", "@PREFIX@/share/man")
append_path("MANPATH", "") -- an empty part stands for the pages of the system
-- A site whose tables are not in /etc/stretto/tables names their directory here:
-- setenv("STRETTO_SITE_TABLES", "/sw/stretto/tables")
