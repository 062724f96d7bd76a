package client_test

import (
	"context"
	"fmt"

	"quittance/client"
	"quittance/client/api"
)

// A draft gets a copy of a customer and of an item.
func ExampleClient_AllCustomers() {
	quittance, stop := connect(map[string]string{
		"GET /api/v1/client/customers": `{"data":[{"id":"cus-1","recipient_name":"Palm Trading LLC","buyer_city":"Dubai"}],"pagination":{"current_page":1,"last_page":1,"has_more":false,"total":1}}`,
		"GET /api/v1/client/items":     `{"data":[{"id":"item-1","name":"Consulting","net_unit_price":100.00}],"pagination":{"current_page":1,"last_page":1,"has_more":false,"total":1}}`,
	})
	defer stop()
	ctx := context.Background()
	var draft api.Draft
	for customer, err := range quittance.AllCustomers(ctx, client.BookQuery{Name: "palm"}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		customer.Fill(&draft)
	}
	for item, err := range quittance.AllItems(ctx, client.BookQuery{}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		line := api.Item{Quantity: new(api.MustDecimal("10"))}
		item.Fill(&line)
		draft.Items = append(draft.Items, line)
	}
	fmt.Println(*draft.RecipientName, *draft.BuyerCity, *draft.Items[0].Name, draft.Items[0].NetUnitPrice)
	// Output: Palm Trading LLC Dubai Consulting 100.00
}
