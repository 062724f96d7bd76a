// The names of the fields whose numbers are decimals, in any object except pagination.
//
// go run ./sdk/generate writes this file from the OpenAPI document; do not edit it.

export const decimalFields = new Set([
  "allowances",
  "amount",
  "amount_due",
  "base_amount",
  "base_quantity",
  "charges",
  "discount_amount",
  "gross_unit_price",
  "lines",
  "net",
  "net_amount",
  "net_unit_price",
  "payable",
  "percent",
  "prepaid",
  "prepaid_amount",
  "quantity",
  "rate",
  "rounding",
  "rounding_amount",
  "tax",
  "tax_exchange_rate",
  "tax_in_tax_currency",
  "taxable",
  "total",
  "total_amount",
  "total_in_tax_currency",
  "vat_rate",
]);
