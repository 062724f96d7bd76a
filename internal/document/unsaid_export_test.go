package document

// Unsaid is the comparison of statements by which [DocumentOf] tells what it leaves.
var Unsaid = unsaid
