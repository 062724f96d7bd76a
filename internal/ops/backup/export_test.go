package backup

import "time"

// Hurry makes a bucket pause only shortly between attempts, and gives a list no more time than any other request.
func (s *S3) Hurry() { s.pause, s.lists = time.Millisecond, s.timeout }
