package backup_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"quittance/test/pgtest"
	"quittance/test/s3test"
)

func TestMain(m *testing.M) {
	if err := setCredentials(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(pgtest.Run(m))
}

// setCredentials sets the credentials of the store for all tests. The few that need others are not parallel.
func setCredentials() error {
	for _, variable := range append(s3test.Environment(), "AWS_SHARED_CREDENTIALS_FILE=/nonexistent/none",
		"AWS_CONFIG_FILE=/nonexistent/none") {
		name, value, _ := strings.Cut(variable, "=")
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	return nil
}
