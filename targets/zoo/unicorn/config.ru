run ->(env) { sleep 0.05; [200, { "content-type" => "text/plain" }, ["ok\n"]] }
