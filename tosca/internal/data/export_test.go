package data

// FunctionNames lists what a call may be written as.
var FunctionNames = functionNames
