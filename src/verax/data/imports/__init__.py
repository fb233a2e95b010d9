"""Explanations as other tools keep them (Captum, SHAP, inseq, ERASER), turned into ours; one file for each format."""
