#!/bin/bash
echo $(($(cut -d, -f2 sales.csv | paste -sd+))) > /app/total.txt
