package cli

import (
	"fmt"

	"quittance/internal/platform/tracing"
)

// otlp holds the flags for traces.
type otlp struct {
	Endpoint    string  `placeholder:"URL" help:"Base address of an OpenTelemetry receiver, such as https://collector.example:4318, to which traces are sent over OTLP/HTTP; disabled by default."`
	HeadersFile string  `placeholder:"FILE" help:"File with the header fields of each export, one \"Name: value\" per line, for example a credential."`
	Sample      float64 `default:"1" help:"Fraction of traces to send, above 0 and at most 1."`
}

// config returns the configuration of the traces.
func (o otlp) config(env environment) (config tracing.Config, err error) {
	config = tracing.Config{Endpoint: o.Endpoint, Sample: o.Sample}
	if o.HeadersFile != "" {
		if config.Headers, err = readSecret(env, o.HeadersFile); err != nil {
			return config, fmt.Errorf("--otlp-headers-file: %w", err)
		}
	}
	return config, nil
}
