"""Can a person take the explanation in?"""
