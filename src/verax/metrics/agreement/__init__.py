"""Does the explanation point at what people point at?"""
