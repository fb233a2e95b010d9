"""Does a method or metric of one's own keep what the rest of verax relies on?"""
