<?php
if (isset($_GET['code'])) {
    http_response_code((int) $_GET['code']);
}
echo "pages by PHP\n";
