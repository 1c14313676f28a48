// This file lets a function without a body compile.
