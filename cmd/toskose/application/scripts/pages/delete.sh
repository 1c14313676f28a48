#!/bin/sh
rm -rf /srv/www
