#!/bin/sh
mkdir -p /record
env
