<?php
if (file_exists('/run/php/broken')) {
    http_response_code(500);
}
echo "pages by PHP\n";
