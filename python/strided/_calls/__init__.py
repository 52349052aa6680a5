"""What stands between a call and a function: signatures, arguments, ``out=``, types of the user's own."""
