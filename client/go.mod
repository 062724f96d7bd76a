module quittance/client

go 1.26.0
