"""Does the explanation tell what the model really used?"""
