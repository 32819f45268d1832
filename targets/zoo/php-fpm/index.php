<?php
usleep(50000);
echo "ok\n";
