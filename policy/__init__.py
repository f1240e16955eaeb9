"""Who may do what to whom: the operator's rules, and the pure decision over them."""
