/** Tags of SGP.22's messages that several of them have. Facts section 1.2. */
export const SEQUENCE = 0x30
/** A signature of 64 octets, `r || s`. SGP.22 §2.6.7.2. */
export const SIGNATURE = 0x5f37
/** A one-time public key: `04 || X || Y`. */
export const OTPK = 0x5f49
export const TID = 0x80
/** Metadata of a notification. */
export const NOTIFICATION_METADATA = 0xbf2f
/** Octets of a challenge, a transaction id of ours, and a signature. */
export const CHALLENGE_OCTETS = 16
export const SIGNATURE_OCTETS = 64
