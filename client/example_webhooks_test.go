package client_test

import (
	"context"
	"fmt"

	"quittance/client"
	"quittance/client/api"
)

// A destination is subscribed to one kind of event. The response has the signing secret, which is never shown again.
func ExampleClient_CreateSubscription() {
	quittance, stop := connect(map[string]string{
		"POST /api/v1/webhooks/subscriptions": `{"data":{"id":"hook-1","secret":"whsec_1"}}`,
	})
	defer stop()
	created, err := quittance.CreateSubscription(context.Background(),
		api.SubscriptionRequest{URL: new("https://erp.example.com/quittance"),
			Events: []string{string(api.EventStatusChanged)}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(created.ID, created.Secret != "")
	// Output: hook-1 true
}

// All webhook subscriptions.
func ExampleClient_Subscriptions() {
	quittance, stop := connect(map[string]string{
		"GET /api/v1/webhooks/subscriptions": `{"data":[{"id":"hook-1","active":true}],"pagination":{}}`,
	})
	defer stop()
	page, err := quittance.Subscriptions(context.Background(), client.Paging{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(page.Data[0].ID, page.Data[0].Active)
	// Output: hook-1 true
}

// A subscription that the service has deactivated because its destination redirects.
func ExampleClient_Subscription() {
	quittance, stop := connect(map[string]string{
		"GET /api/v1/webhooks/subscriptions/hook-1": `{"data":{"id":"hook-1","active":false,"deactivation_reason":"redirect"}}`,
	})
	defer stop()
	subscription, err := quittance.Subscription(context.Background(), "hook-1")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(subscription.Active, *subscription.DeactivationReason)
	// Output: false redirect
}

// A subscription is deactivated.
func ExampleClient_DeactivateSubscription() {
	quittance, stop := connect(map[string]string{
		"POST /api/v1/webhooks/subscriptions/hook-1/deactivate": `{"data":{"id":"hook-1","active":false}}`,
	})
	defer stop()
	subscription, err := quittance.DeactivateSubscription(context.Background(), "hook-1")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(subscription.Active)
	// Output: false
}

// The deliveries that failed.
func ExampleClient_Deliveries() {
	quittance, stop := connect(map[string]string{
		"GET /api/v1/webhooks/deliveries": `{"data":[{"id":"del-1","state":"failed","attempt_count":12}],"pagination":{}}`,
	})
	defer stop()
	page, err := quittance.Deliveries(context.Background(), client.DeliveryQuery{State: api.DeliveryFailed})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(page.Data[0].ID, page.Data[0].AttemptCount)
	// Output: del-1 12
}

// A delivery with its attempts.
func ExampleClient_Delivery() {
	quittance, stop := connect(map[string]string{
		"GET /api/v1/webhooks/deliveries/del-1": `{"data":{"id":"del-1","attempts":[{"http_status":503}]}}`,
	})
	defer stop()
	delivery, err := quittance.Delivery(context.Background(), "del-1")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(*delivery.Attempts[0].HTTPStatus)
	// Output: 503
}

// A failed delivery is started again.
func ExampleClient_Redeliver() {
	quittance, stop := connect(map[string]string{
		"POST /api/v1/webhooks/deliveries/del-1/redeliver": `{"data":{"id":"del-1","state":"pending"}}`,
	})
	defer stop()
	delivery, err := quittance.Redeliver(context.Background(), "del-1")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(delivery.State)
	// Output: pending
}

// Events are read by cursor, instead of or in addition to webhooks.
func ExampleClient_Events() {
	quittance, stop := connect(map[string]string{
		"GET /api/v1/webhooks/events": `{"data":[{"id":"ev-1","event":"einvoice.terminal"}],"pagination":{"next_cursor":"17","has_more":false}}`,
	})
	defer stop()
	feed, err := quittance.Events(context.Background(), "", 100)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(feed.Data[0].Event, feed.Pagination.NextCursor)
	// Output: einvoice.terminal 17
}
