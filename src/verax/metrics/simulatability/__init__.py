"""Simulatability: does the explanation help to predict the model's answer?"""
