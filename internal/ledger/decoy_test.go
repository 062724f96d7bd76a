package ledger_test

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/test/ledgertest/fixture"
)

// TestIdentifiersOfAnotherCompany calls every function of a company's tenant, and every method of its read models, that
// takes an identifier, with every identifier of another company. Each must return that it does not exist.
func TestIdentifiersOfAnotherCompany(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		probeFunctions(t, f, 40)
		probeMethods(t, f, reflect.ValueOf(view.Of(f.Tenant)), 20)
		probeMethods(t, f, reflect.ValueOf(invoices.Customers(f.Tenant)), 3)
		probeMethods(t, f, reflect.ValueOf(invoices.Items(f.Tenant)), 3)
	})
}

// probeFunctions probes the functions of the ledger with the tenant of the fixture, and fails the test after fewer than
// least calls.
func probeFunctions(t *testing.T, f *fixture.Fixture, least int) {
	t.Helper()
	ids, called := f.Ids(t, f.Decoy), 0
	for name, function := range tenantFunctions() {
		of := reflect.ValueOf(function)
		if kind := of.Type(); kind.NumIn() > 2 && kind.In(0) == reflect.TypeFor[context.Context]() &&
			kind.In(1) == reflect.TypeFor[*base.Tenant]() && kind.In(2) == reflect.TypeFor[base.ID]() {
			called += probe(t, name, of, 2, ids, f.Tenant)
		}
	}
	if called < least {
		t.Errorf("only %d calls were tried with %d identifiers", called, len(ids))
	}
}

// probeMethods probes the methods of one value, and fails the test after fewer than least calls.
func probeMethods(t *testing.T, f *fixture.Fixture, of reflect.Value, least int) {
	t.Helper()
	ids, called := f.Ids(t, f.Decoy), 0
	for n := range of.NumMethod() {
		method, name := of.Method(n), of.Type().Method(n).Name
		if kind := method.Type(); kind.NumIn() > 1 && kind.In(0) == reflect.TypeFor[context.Context]() &&
			kind.In(1) == reflect.TypeFor[base.ID]() {
			called += probe(t, name, method, 1, ids, nil)
		}
	}
	if called < least {
		t.Errorf("only %d calls were tried with %d identifiers", called, len(ids))
	}
}

// probe calls a function with each of some identifiers as its argument at, and returns how often.
func probe(t *testing.T, name string, function reflect.Value, at int, ids []base.ID, tenant *base.Tenant) (called int) {
	t.Helper()
	for _, id := range ids {
		called++
		args := fixture.ZeroArgs(t, function.Type(), tenant)
		args[at] = reflect.ValueOf(id)
		if err := fixture.LastError(function.Call(args)); !errors.Is(err, base.ErrNotFound) {
			t.Errorf("%s of the decoy's %s: error %v, want %v", name, id, err, base.ErrNotFound)
			break
		}
	}
	return called
}

// TestNoTenant checks that only a login, a lease or an administrator gives a working *Tenant: every function of the
// zero value and of nil fails, and every operation of their books and read models.
func TestNoTenant(t *testing.T) {
	for kind, tenant := range map[string]*base.Tenant{"nil": nil, "zero": {}} {
		for name, function := range tenantFunctions() {
			of := reflect.ValueOf(function)
			if err := fixture.LastError(of.Call(fixture.ZeroArgs(t, of.Type(), tenant))); !errors.Is(err, base.ErrNoTenant) {
				t.Errorf("%s tenant: %s gives the error %v", kind, name, err)
			}
		}
		for of, value := range map[string]reflect.Value{"customers": reflect.ValueOf(invoices.Customers(tenant)),
			"items": reflect.ValueOf(invoices.Items(tenant)), "view": reflect.ValueOf(view.Of(tenant)),
			"bounded view": reflect.ValueOf(view.Of(tenant).AtMost(1))} {
			tried := 0
			for n := range value.NumMethod() {
				method, name := value.Method(n), value.Type().Method(n).Name
				if name == "AtMost" { // bounds the view and accesses nothing
					continue
				}
				tried++
				if err := fixture.LastError(method.Call(fixture.ZeroArgs(t, method.Type(), nil))); !errors.Is(err,
					base.ErrNoTenant) {
					t.Errorf("%s of the %s tenant: %s gives the error %v", of, kind, name, err)
				}
			}
			if tried < 4 {
				t.Errorf("%s of the %s tenant: only %d methods were tried", of, kind, tried)
			}
		}
	}
}
