#!/bin/sh
# Writes what depends on inputs.
set -e

cat >/srv/www/index.html <<END
<!doctype html>
<title>$INPUT_TITLE</title>
<h1>$INPUT_TITLE</h1>
<p>The clock's time is <a href="time.txt">here</a>.
END
echo "pages: the title is $INPUT_TITLE"
