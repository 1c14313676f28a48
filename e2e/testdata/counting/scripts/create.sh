#!/bin/sh
echo created >made
