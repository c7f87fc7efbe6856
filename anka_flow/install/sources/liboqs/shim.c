/* liboqs 0.13 lacks one function that liboqs-python 0.16 looks up when it is imported. */
#include <stdbool.h>
#include <stddef.h>

#include <oqs/oqs.h>

OQS_API bool OQS_SIG_supports_ctx_str(const char *alg_name);

OQS_API bool OQS_SIG_supports_ctx_str(const char *alg_name) {
	OQS_SIG *sig = OQS_SIG_new(alg_name);
	bool supported = sig != NULL && sig->sig_with_ctx_support;
	OQS_SIG_free(sig);
	return supported;
}
