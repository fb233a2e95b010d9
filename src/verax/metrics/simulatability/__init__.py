"""Does the explanation help to foresee what the model says?"""
