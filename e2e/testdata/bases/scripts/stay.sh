#!/bin/sh
exec sleep 86400
