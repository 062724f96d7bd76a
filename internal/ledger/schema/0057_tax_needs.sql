-- What lists say about the tax of a draft has changed: a rate that contradicts its category is a need, and the computed total has no tax
-- in the categories in which none is charged. The summaries of drafts with such categories are created again, and no others.

-- +goose Up
update invoices set summarized = 0
    where document like '%"vat_category":"Z"%' or document like '%"vat_category":"E"%' or document like '%"vat_category":"AE"%'
        or document like '%"vat_category":"N"%' or document like '%"vat_category":"G"%' or document like '%"vat_category":"K"%'
        or document like '%"vat_category":"O"%' or document like '%"vat_category":"B"%' or document like '%"vat_category":"S","vat_rate":0%'
        or document like '%"tax_exemption_code":"DL8.48.%';
