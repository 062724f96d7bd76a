module quittance/sdk/go

go 1.26.0
