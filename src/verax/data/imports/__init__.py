"""Import of explanations from other tools (Captum, SHAP, inseq, ERASER); one module per format."""
