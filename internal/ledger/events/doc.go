// Package events has what companies' systems are told: events, the subscriptions of webhooks, and the delivery of each
// event to each of them.
//
// An event is written in the transaction of what it tells about ([Batch]), with one delivery for each subscription to
// its kind. A worker claims deliveries of one subscription with [ClaimDeliveries], sends, and records each attempt with
// [DeliveryLease.RecordAttempt].
package events
