#!/bin/sh
echo version one
