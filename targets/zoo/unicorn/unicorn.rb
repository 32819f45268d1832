worker_processes 3
listen File.expand_path("run/unicorn.sock"), :umask => 0
