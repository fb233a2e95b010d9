"""What people look at: tables, terminal, notebook and one offline HTML page; reads the store only."""
