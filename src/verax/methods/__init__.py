"""Methods of explanation, one file each."""
