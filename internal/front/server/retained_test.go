package server_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"testing"
	"time"

	"quittance/internal/front/view"
	"quittance/internal/ledger/incoming"
)

// TestRetainedBodiesAreComplete checks that a document is returned byte for byte, for lengths around those of the
// chunks in which it is read.
func TestRetainedBodiesAreComplete(t *testing.T) {
	onEngines(t, nil, func(t *testing.T, s *system) {
		c := s.company(t)
		tenant, err := s.db.Tenant(t.Context(), c.id)
		if err != nil {
			t.Fatal(err)
		}
		const piece = 3 * 128 << 10
		documents := map[string][]byte{}
		var retained []incoming.NewIncoming
		for _, size := range []int{0, 1, 2, 3, piece - 1, piece, piece + 1, 2*piece + 2, 3 << 20} {
			id := fmt.Sprintf("of-%d", size)
			documents[id] = bytes.Repeat([]byte(`"body_base64":null`+"\x00\xff"), size/20+1)[:size]
			retained = append(retained, incoming.NewIncoming{ProviderDocumentID: id,
				MediaType: `text/plain; x="body_base64":null`,
				Metadata:  []byte(`{}`), Body: documents[id], Retained: true, ReceivedAt: new(time.Now())})
		}
		if err := incoming.Seed(t.Context(), tenant, retained); err != nil {
			t.Fatal(err)
		}
		list, err := view.Of(tenant).IncomingInvoices(t.Context(), view.IncomingFilter{}, 1, 100)
		if err != nil || len(list.Entries) != len(documents) {
			t.Fatalf("%d documents: %v", len(list.Entries), err)
		}
		for _, i := range list.Entries {
			path := "/api/v1/client/incoming-invoices/" + i.ID.String() + "/revisions/1/document"
			a := c.get(t, path)
			a.want(t, http.StatusOK, "")
			got, err := base64.StdEncoding.DecodeString(a.textAt(t, "/data/body_base64"))
			if err != nil || !bytes.Equal(got, documents[i.ProviderDocumentID]) {
				t.Errorf("%s: %d bytes, %v", i.ProviderDocumentID, len(got), err)
			}
			if media := a.textAt(t, "/data/media_type"); media != i.MediaType {
				t.Errorf("%s: media type %q", i.ProviderDocumentID, media)
			}
		}
	})
}
