// Generated from the service's own OpenAPI document by scripts/generate.mjs. Changes by hand are lost.

/** What fetch takes as a body and is no JSON. One that is a stream is sent once, never again. */
export type RawBody = string | Blob | ArrayBuffer | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>

/** Codes of errors that any operation may answer. */
export type CommonCode =
  | 'headers_too_large'
  | 'internal'
  | 'not_ready'
  | 'store_corrupt'
  | 'store_unavailable'
  | 'validation_failed'

/** What each operation takes and answers, by method and path. */
export interface Operations {
  /** List alerts, newest first, those that are over included. Roles: viewer, operator, sim:issuer, sim:admin, admin. */
  'GET /v1/alerts': {
    readonly request: {
      readonly query?: {
        /** open: pending or firing. */
        readonly state?: 'pending' | 'firing' | 'resolved' | 'open' | undefined
        readonly severity?: 'info' | 'warning' | 'critical' | undefined
        readonly rule?: string | undefined
        /** Page size. */
        readonly limit?: number | undefined
        /** The next_cursor of the page before, with the same filters. Opaque. */
        readonly cursor?: string | undefined
      }
    }
    readonly answer: {
      readonly alerts: readonly {
        readonly id: string
        /** A built-in rule or one of alerts.rules. */
        readonly rule: string
        /** info, warning or critical; more may come. */
        readonly severity: string
        /** pending, firing or resolved; more may come. */
        readonly state: string
        /** What it is about; * stands for all others of the rule. */
        readonly subject: string
        readonly message: string
        readonly value: number | null
        readonly threshold: number | null
        /** When it began to be bad. */
        readonly started_at: string
        /** When it had been bad for long enough. */
        readonly firing_at: string | null
        readonly resolved_at: string | null
        readonly acked_by: string | null
        readonly acked_at: string | null
        /** Until when receivers are not told of it. */
        readonly silenced_until: string | null
      }[]
      readonly next_cursor: string | null
    }
    readonly list: 'alerts'
    readonly code: CommonCode | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'invalid_cursor' | 'invalid_limit' | 'rate_limited' | 'token_expired' | 'unauthenticated'
  }
  /** Acknowledge an alert: somebody takes care of it. Roles: operator, admin. */
  'POST /v1/alerts/{id}/ack': {
    readonly request: {
      readonly path: {
        readonly id: string
      }
      readonly body?: Readonly<Record<string, never>>
    }
    readonly answer: {
      readonly id: string
      /** A built-in rule or one of alerts.rules. */
      readonly rule: string
      /** info, warning or critical; more may come. */
      readonly severity: string
      /** pending, firing or resolved; more may come. */
      readonly state: string
      /** What it is about; * stands for all others of the rule. */
      readonly subject: string
      readonly message: string
      readonly value: number | null
      readonly threshold: number | null
      /** When it began to be bad. */
      readonly started_at: string
      /** When it had been bad for long enough. */
      readonly firing_at: string | null
      readonly resolved_at: string | null
      readonly acked_by: string | null
      readonly acked_at: string | null
      /** Until when receivers are not told of it. */
      readonly silenced_until: string | null
    }
    readonly code: CommonCode | 'alert_not_found' | 'alert_state_conflict' | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** Tell no receiver of this rule and subject until then; null ends it. Roles: operator, admin. */
  'POST /v1/alerts/{id}/silence': {
    readonly request: {
      readonly path: {
        readonly id: string
      }
      readonly body: {
        readonly until: string | null
      }
    }
    readonly answer: {
      readonly id: string
      /** A built-in rule or one of alerts.rules. */
      readonly rule: string
      /** info, warning or critical; more may come. */
      readonly severity: string
      /** pending, firing or resolved; more may come. */
      readonly state: string
      /** What it is about; * stands for all others of the rule. */
      readonly subject: string
      readonly message: string
      readonly value: number | null
      readonly threshold: number | null
      /** When it began to be bad. */
      readonly started_at: string
      /** When it had been bad for long enough. */
      readonly firing_at: string | null
      readonly resolved_at: string | null
      readonly acked_by: string | null
      readonly acked_at: string | null
      /** Until when receivers are not told of it. */
      readonly silenced_until: string | null
    }
    readonly code: CommonCode | 'alert_not_found' | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** The receivers of alerts, and what they have not taken yet. Roles: viewer, operator, sim:issuer, sim:admin, admin. */
  'GET /v1/alerts/webhooks': {
    readonly request: object
    readonly answer: {
      /** Whether rules are looked at (alerts.enabled). */
      readonly enabled: boolean
      readonly webhooks: readonly {
        readonly name: string
        /** Messages that are still to be taken. */
        readonly waiting: number
        /** Messages that were not taken for a day. */
        readonly parked: number
        /** Why one of them was not taken. */
        readonly last_error: string | null
      }[]
    }
    readonly code: CommonCode | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'rate_limited' | 'token_expired' | 'unauthenticated'
  }
  /** Send one receiver a message of type alert.test, now and once. Roles: operator, admin. */
  'POST /v1/alerts/webhooks/test': {
    readonly request: {
      readonly body: {
        readonly webhook: string
        readonly resend?: boolean
      }
    }
    readonly answer: {
      readonly webhook: string
      /** webhook-id of the message. */
      readonly id: string
      readonly delivered: boolean
      /** Why it was not taken. */
      readonly error: string | null
      /** Parked messages that are sent again. */
      readonly resent: number
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type' | 'webhook_not_found'
  }
  /** List the audit trail, newest first. Roles: operator, admin. */
  'GET /v1/audit': {
    readonly request: {
      readonly query?: {
        /** Exact, such as token.create. */
        readonly action?: string | undefined
        /** The id of a principal. */
        readonly principal?: string | undefined
        readonly target?: string | undefined
        /** Entries at or after this time. */
        readonly from?: string | undefined
        /** Entries before this time. */
        readonly to?: string | undefined
        /** Page size. */
        readonly limit?: number | undefined
        /** The next_cursor of the page before, with the same filters. Opaque. */
        readonly cursor?: string | undefined
      }
    }
    readonly answer: {
      readonly entries: readonly {
        readonly seq: number
        readonly at: string
        readonly principal: {
          readonly kind: string
          readonly id: string
          readonly name: string
        }
        readonly action: string
        readonly target: string
        /** ok, denied or failed; more may come. */
        readonly outcome: string
        readonly request_id: string | null
        readonly detail: Readonly<Record<string, unknown>>
        readonly hash: string
        readonly prev_hash: string
      }[]
      readonly next_cursor: string | null
    }
    readonly list: 'entries'
    readonly code: CommonCode | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'invalid_cursor' | 'invalid_limit' | 'rate_limited' | 'token_expired' | 'unauthenticated'
  }
  /** The page on which an invitation is accepted. Public. */
  'GET /v1/auth/invitation': {
    readonly request: object
    readonly answer: string
    readonly code: CommonCode | 'feature_not_installed' | 'rate_limited'
  }
  /** Accept an invitation: choose a password, get the authenticator and the recovery codes. Public. */
  'POST /v1/auth/invitation': {
    readonly request: {
      readonly body: {
        readonly token: string
        readonly password: string
        /** Answer the QR code of the authenticator, too. */
        readonly with_qr?: boolean
      }
    }
    readonly answer: {
      readonly id: string
      readonly name: string
      readonly roles: readonly string[]
      readonly created_at: string
      readonly last_login_at: string | null
      readonly recovery_codes_left: number
      /** For the authenticator, as a QR code. Shown here and never again. */
      readonly totp_uri: string
      /** Ten, each good once in place of a code. Shown here and never again. */
      readonly recovery_codes: readonly string[]
      /** Only when it was drawn here. Shown here and never again. */
      readonly password?: string
      /** With with_qr: the rows of the QR code of totp_uri, 1 for black, without the white around it. */
      readonly totp_qr?: readonly string[]
    }
    readonly code: CommonCode | 'body_too_large' | 'feature_not_installed' | 'forbidden' | 'invitation_invalid' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'unsupported_media_type' | 'user_exists'
  }
  /** Make a link that opens the console as who asks, once, within five minutes. Roles: viewer, operator, sim:issuer, sim:admin, admin. */
  'POST /v1/auth/links': {
    readonly request: {
      readonly body?: Readonly<Record<string, never>>
    }
    readonly answer: {
      /** What withdraws it. */
      readonly id: string
      /** What stands behind #. Shown here and never again. */
      readonly token: string
      readonly expires_at: string
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** List the links that nobody has opened yet. Roles: viewer, operator, sim:issuer, sim:admin, admin. */
  'GET /v1/auth/links': {
    readonly request: {
      readonly query?: {
        /** Page size. */
        readonly limit?: number | undefined
        /** The next_cursor of the page before, with the same filters. Opaque. */
        readonly cursor?: string | undefined
      }
    }
    readonly answer: {
      readonly links: readonly {
        readonly id: string
        readonly created_by: {
          readonly kind: string
          readonly id: string
          readonly name: string
        }
        /** The credential that it ends with: token, session or certificate with its id, environment, system; more may come. Null: none. */
        readonly parent: {
          readonly kind: string
          readonly id: string
        } | null
        readonly created_at: string
        readonly expires_at: string
      }[]
      readonly next_cursor: string | null
    }
    readonly list: 'links'
    readonly code: CommonCode | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'invalid_cursor' | 'invalid_limit' | 'rate_limited' | 'token_expired' | 'unauthenticated'
  }
  /** Withdraw a link of your own, or with the role admin that of anybody. Roles: viewer, operator, sim:issuer, sim:admin, admin. */
  'DELETE /v1/auth/links/{id}': {
    readonly request: {
      readonly path: {
        readonly id: string
      }
    }
    readonly answer: undefined
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'link_not_found' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** End the token of this request when a link has given it; it opens nothing from the next request on. Roles: viewer, operator, sim:issuer, sim:admin, admin. */
  'POST /v1/auth/links/close': {
    readonly request: {
      readonly body?: Readonly<Record<string, never>>
    }
    readonly answer: undefined
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** Exchange the token of a link for what its maker may do, once. Public. */
  'POST /v1/auth/links/open': {
    readonly request: {
      readonly body: {
        readonly token: string
      }
    }
    readonly answer: {
      /** A JWT for Authorization: Bearer. Good for 15 minutes. */
      readonly token: string
      /** Bearer. */
      readonly token_type: string
      /** When the token ends; refresh it before. */
      readonly expires_at: string
      readonly roles: readonly string[]
    }
    readonly code: CommonCode | 'body_too_large' | 'feature_not_installed' | 'forbidden' | 'link_invalid' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'unsupported_media_type'
  }
  /** Log in with a password and a code. Public. */
  'POST /v1/auth/login': {
    readonly request: {
      readonly body: {
        readonly username: string
        readonly password: string
        /** The six digits that the authenticator shows, or a recovery code. Each is taken once. */
        readonly code: string
      }
    }
    readonly answer: {
      /** A JWT for Authorization: Bearer. Good for 15 minutes. */
      readonly token: string
      /** Bearer. */
      readonly token_type: string
      /** When the token ends; refresh it before. */
      readonly expires_at: string
      readonly roles: readonly string[]
    }
    readonly code: CommonCode | 'body_too_large' | 'feature_not_installed' | 'forbidden' | 'login_failed' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'unsupported_media_type'
  }
  /** End the session of the refresh cookie; its JWT opens nothing from the next request on. Public. */
  'POST /v1/auth/logout': {
    readonly request: {
      readonly body?: Readonly<Record<string, never>>
    }
    readonly answer: undefined
    readonly code: CommonCode | 'body_too_large' | 'feature_not_installed' | 'forbidden' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'unsupported_media_type'
  }
  /** Say as whom the credential of this request speaks, and what it may do. Roles: viewer, operator, sim:issuer, sim:admin, admin. */
  'GET /v1/auth/me': {
    readonly request: object
    readonly answer: {
      /** user, token, admin-env or cli; more may come. */
      readonly kind: string
      readonly name: string
      /** With all that they include. */
      readonly roles: readonly string[]
      /** When the credential ends; null when it does not. */
      readonly expires_at: string | null
    }
    readonly code: CommonCode | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'rate_limited' | 'token_expired' | 'unauthenticated'
  }
  /** Ask for what the browser needs to log in with a passkey. Public. */
  'POST /v1/auth/passkey/options': {
    readonly request: {
      readonly body?: Readonly<Record<string, never>>
    }
    readonly answer: {
      /** As PublicKeyCredential.parseCreationOptionsFromJSON or parseRequestOptionsFromJSON takes them; good for five minutes, once. */
      readonly options: Readonly<Record<string, unknown>>
    }
    readonly code: CommonCode | 'body_too_large' | 'feature_not_installed' | 'forbidden' | 'malformed_json' | 'passkey_unavailable' | 'rate_limited' | 'request_timeout' | 'unsupported_media_type'
  }
  /** Ask for what the browser needs to make a passkey for who is logged in. Roles: viewer, operator, sim:issuer, sim:admin, admin. */
  'POST /v1/auth/passkey/register/options': {
    readonly request: {
      readonly body?: Readonly<Record<string, never>>
    }
    readonly answer: {
      /** As PublicKeyCredential.parseCreationOptionsFromJSON or parseRequestOptionsFromJSON takes them; good for five minutes, once. */
      readonly options: Readonly<Record<string, unknown>>
    }
    readonly code: CommonCode | 'body_too_large' | 'capacity_exceeded' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'passkey_unavailable' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** Take the passkey that the browser has made. Roles: viewer, operator, sim:issuer, sim:admin, admin. */
  'POST /v1/auth/passkey/register/verify': {
    readonly request: {
      readonly body: {
        /** What to know the passkey by in the list. */
        readonly label?: string
        /** What the credential of navigator.credentials.create gives with toJSON(). */
        readonly response: {
          readonly id: string
          readonly rawId: string
          readonly type: 'public-key'
          readonly response: {
            readonly clientDataJSON: string
            readonly attestationObject: string
            readonly transports?: readonly string[]
          }
        }
      }
    }
    readonly answer: {
      readonly id: string
      readonly label: string
      /** The name of this box for which it works. */
      readonly host_name: string
      readonly created_at: string
      readonly last_used_at: string | null
      /** When its count told that there is a copy of it; it opens nothing since. */
      readonly disabled_at: string | null
    }
    readonly code: CommonCode | 'body_too_large' | 'capacity_exceeded' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'passkey_unavailable' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** Log in with a passkey, without a password. Public. */
  'POST /v1/auth/passkey/verify': {
    readonly request: {
      readonly body: {
        /** What the credential of navigator.credentials.get gives with toJSON(). */
        readonly response: {
          readonly id: string
          readonly rawId: string
          readonly type: 'public-key'
          readonly response: {
            readonly clientDataJSON: string
            readonly authenticatorData: string
            readonly signature: string
            readonly userHandle?: string | null
          }
        }
      }
    }
    readonly answer: {
      /** A JWT for Authorization: Bearer. Good for 15 minutes. */
      readonly token: string
      /** Bearer. */
      readonly token_type: string
      /** When the token ends; refresh it before. */
      readonly expires_at: string
      readonly roles: readonly string[]
    }
    readonly code: CommonCode | 'body_too_large' | 'feature_not_installed' | 'forbidden' | 'login_failed' | 'malformed_json' | 'passkey_unavailable' | 'rate_limited' | 'request_timeout' | 'unsupported_media_type'
  }
  /** List one's own passkeys, oldest first. Roles: viewer, operator, sim:issuer, sim:admin, admin. */
  'GET /v1/auth/passkeys': {
    readonly request: object
    readonly answer: {
      readonly passkeys: readonly {
        readonly id: string
        readonly label: string
        /** The name of this box for which it works. */
        readonly host_name: string
        readonly created_at: string
        readonly last_used_at: string | null
        /** When its count told that there is a copy of it; it opens nothing since. */
        readonly disabled_at: string | null
      }[]
      readonly next_cursor: null
    }
    readonly code: CommonCode | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'rate_limited' | 'token_expired' | 'unauthenticated'
  }
  /** Remove a passkey of one's own; it opens nothing from then on. Roles: viewer, operator, sim:issuer, sim:admin, admin. */
  'DELETE /v1/auth/passkeys/{id}': {
    readonly request: {
      readonly path: {
        readonly id: string
      }
    }
    readonly answer: undefined
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'passkey_not_found' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** Change your own password; every other session of yours ends. Roles: viewer, operator, sim:issuer, sim:admin, admin. */
  'POST /v1/auth/password': {
    readonly request: {
      readonly body: {
        readonly password: string
        readonly code: string
        readonly new_password: string
      }
    }
    readonly answer: undefined
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'login_failed' | 'malformed_json' | 'person_needed' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** Say how many recovery codes of your own are left. Roles: viewer, operator, sim:issuer, sim:admin, admin. */
  'GET /v1/auth/recovery-codes': {
    readonly request: object
    readonly answer: {
      /** Of ten: those that were not used yet. null for the credential of a program, which has none. */
      readonly left: number | null
    }
    readonly code: CommonCode | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'rate_limited' | 'token_expired' | 'unauthenticated'
  }
  /** Draw other recovery codes for yourself; those before are good for nothing then. Roles: viewer, operator, sim:issuer, sim:admin, admin. */
  'POST /v1/auth/recovery-codes': {
    readonly request: {
      readonly body: {
        readonly password: string
        readonly code: string
      }
    }
    readonly answer: {
      /** Ten, each good once in place of a code. Shown here and never again. */
      readonly recovery_codes: readonly string[]
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'login_failed' | 'malformed_json' | 'person_needed' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** Exchange the refresh cookie for another JWT and another cookie. Public. */
  'POST /v1/auth/refresh': {
    readonly request: {
      readonly body?: Readonly<Record<string, never>>
    }
    readonly answer: {
      /** A JWT for Authorization: Bearer. Good for 15 minutes. */
      readonly token: string
      /** Bearer. */
      readonly token_type: string
      /** When the token ends; refresh it before. */
      readonly expires_at: string
      readonly roles: readonly string[]
    }
    readonly code: CommonCode | 'body_too_large' | 'feature_not_installed' | 'forbidden' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** List the sessions of people that are alive, newest first. Roles: viewer, operator, sim:issuer, sim:admin, admin. */
  'GET /v1/auth/sessions': {
    readonly request: {
      readonly query?: {
        readonly user_id?: string | undefined
        /** Page size. */
        readonly limit?: number | undefined
        /** The next_cursor of the page before, with the same filters. Opaque. */
        readonly cursor?: string | undefined
      }
    }
    readonly answer: {
      readonly sessions: readonly {
        readonly id: string
        readonly user_id: string
        readonly user_name: string
        /** password, recovery, passkey or link; more may come. */
        readonly method: string
        readonly created_at: string
        /** When it was opened or last refreshed. */
        readonly last_used_at: string
        readonly expires_at: string
        /** Where it was opened or last refreshed from. */
        readonly address: string
        /** What the client called itself. */
        readonly agent: string
        /** The credential that it ends with: token, session or certificate with its id, environment, system; more may come. Null: none. */
        readonly parent: {
          readonly kind: string
          readonly id: string
        } | null
        /** Whether this request is of it. */
        readonly current: boolean
      }[]
      readonly next_cursor: string | null
    }
    readonly list: 'sessions'
    readonly code: CommonCode | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'invalid_cursor' | 'invalid_limit' | 'rate_limited' | 'token_expired' | 'unauthenticated'
  }
  /** End a session of your own, or with the role admin that of anybody. Roles: viewer, operator, sim:issuer, sim:admin, admin. */
  'DELETE /v1/auth/sessions/{id}': {
    readonly request: {
      readonly path: {
        readonly id: string
      }
    }
    readonly answer: undefined
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'session_not_found' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** Take a backup of this node. Roles: admin. */
  'GET /v1/backup': {
    readonly request: object
    readonly answer: Blob
    readonly code: CommonCode | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'rate_limited' | 'token_expired' | 'unauthenticated'
  }
  /** Whether the machine's clock is believed. Roles: viewer, operator, sim:issuer, sim:admin, admin. */
  'GET /v1/clock': {
    readonly request: object
    readonly answer: {
      /** plausible or in_doubt; more may come. */
      readonly status: string
      /** What the machine's clock says. */
      readonly machine_time: string
      /** The time that the service goes by: the same, unless the clock is in doubt. */
      readonly service_time: string
      /** Why the machine's clock is not believed. */
      readonly doubt: string | null
    }
    readonly code: CommonCode | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'rate_limited' | 'token_expired' | 'unauthenticated'
  }
  /** Say that the machine's clock is right. Roles: admin. */
  'POST /v1/clock/confirm': {
    readonly request: {
      readonly body?: {
        /** The time as you know it. Refused when the machine's clock is more than a minute off it. */
        readonly time?: string
      }
    }
    readonly answer: {
      /** plausible or in_doubt; more may come. */
      readonly status: string
      /** What the machine's clock says. */
      readonly machine_time: string
      /** The time that the service goes by: the same, unless the clock is in doubt. */
      readonly service_time: string
      /** Why the machine's clock is not believed. */
      readonly doubt: string | null
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** Erasures that are under way. Roles: operator, admin. */
  'GET /v1/compliance/erasures': {
    readonly request: {
      readonly query?: {
        /** Page size. */
        readonly limit?: number | undefined
        /** The next_cursor of the page before, with the same filters. Opaque. */
        readonly cursor?: string | undefined
      }
    }
    readonly answer: {
      readonly erasures: readonly {
        readonly imsi_sha256_12: string
        readonly asked_at: string
        /** kind:id */
        readonly asked_by: string
        /** What its IMSI is still needed for; null when it is about to go. */
        readonly waits_for: string | null
      }[]
      readonly next_cursor: string | null
    }
    readonly list: 'erasures'
    readonly code: CommonCode | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'invalid_cursor' | 'invalid_limit' | 'rate_limited' | 'token_expired' | 'unauthenticated'
  }
  /** The regulator's file. Roles: operator, admin. */
  'GET /v1/compliance/export': {
    readonly request: {
      readonly query?: {
        /** From then on; from the beginning when absent. */
        readonly from?: string | undefined
        /** Before then; until now when absent. */
        readonly to?: string | undefined
        /** What the rows are to be about, separated by commas: lifecycle, sim, tx, policy, session, export, checkpoint. All of them when absent. */
        readonly kinds?: string | undefined
      }
    }
    readonly answer: string
    readonly code: CommonCode | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'rate_limited' | 'token_expired' | 'unauthenticated'
  }
  /** What a change of the core's configuration would do now. Roles: operator, admin. */
  'GET /v1/core/plan': {
    readonly request: {
      readonly query?: {
        /** As if `plmn.mcc` were this. */
        readonly mcc?: string | undefined
        /** As if `plmn.mnc` were this. */
        readonly mnc?: string | undefined
        /** As if `tac` were this. */
        readonly tac?: number | undefined
        /** As if the policy had these APNs, with commas between them. */
        readonly apns?: string | undefined
      }
    }
    readonly answer: {
      /** The core that the configuration names. */
      readonly core: string
      /** More values may be added within v1: treat an unknown one as something new, not as an error. */
      readonly driver: 'container' | 'none' | (string & {})
      readonly config_dir: string
      /** unconfigured: no place for the files is named; unknown: it cannot be compared. More values may be added within v1: treat an unknown one as something new, not as an error. */
      readonly state: 'in_sync' | 'changes' | 'unconfigured' | 'unknown' | (string & {})
      /** What it does to the daemons: none restarts where the core reads its files by itself. More values may be added within v1: treat an unknown one as something new, not as an error. */
      readonly action: 'restart' | 'none' | 'unknown' | (string & {})
      readonly files: readonly {
        readonly path: string
        /** More values may be added within v1: treat an unknown one as something new, not as an error. */
        readonly change: 'added' | 'changed' | 'removed' | 'same' | (string & {})
        readonly daemon: string | null
        /** Unified; passwords and keys are left out. */
        readonly diff?: string
      }[]
      /** Those that restart first, in that order. */
      readonly daemons: readonly {
        readonly name: string
        readonly container: string | null
        /** More values may be added within v1: treat an unknown one as something new, not as an error. */
        readonly action: 'restart' | 'none' | (string & {})
        /** More values may be added within v1: treat an unknown one as something new, not as an error. */
        readonly drops: 'lte' | 'nr' | 'all' | 'none' | (string & {})
        readonly reason: string
        /** Phones that this restart cuts off; null when the core does not tell. */
        readonly subscribers_dropped: number | null
        readonly expected_s: number
      }[]
      /** How many subscribers lose their connection; null when the core does not tell. */
      readonly subscribers_dropped: number | null
      /** Until all daemons are back and the phones that were dropped have been told to come back; null when unknown. */
      readonly expected_s: number | null
      /** Files that the service did not write and would replace: nothing is applied before POST /v1/core/take-over names them. */
      readonly held: readonly string[]
      /** Folders with copies of files that others had written, oldest first. Nothing removes them. */
      readonly originals: readonly string[]
      /** What else it asks of the machine, such as memory. */
      readonly notes: readonly string[]
      readonly problems: readonly string[]
    }
    readonly code: CommonCode | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'rate_limited' | 'token_expired' | 'unauthenticated'
  }
  /** Put files of the core back as they were before the service replaced them. Roles: admin. */
  'POST /v1/core/restore-original': {
    readonly request: {
      readonly body?: {
        readonly copy?: string
      }
    }
    readonly answer: {
      readonly copy: string
      readonly changed: readonly string[]
      readonly restarted: readonly string[]
      /** Why daemons have not restarted or are not well; null when all are. */
      readonly problem: string | null
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'not_found' | 'rate_limited' | 'request_timeout' | 'southbound_unavailable' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** Agree that the service replaces files of the core's that it did not write. Roles: admin. */
  'POST /v1/core/take-over': {
    readonly request: {
      readonly body: {
        readonly files: readonly string[]
      }
    }
    readonly answer: {
      readonly files: readonly string[]
      /** Folder of the copy. */
      readonly copy: string
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'southbound_unavailable' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** List the certificates of the SM-DP+, newest first. Roles: admin. */
  'GET /v1/esim/certs': {
    readonly request: {
      readonly query?: {
        /** Page size. */
        readonly limit?: number | undefined
        /** The next_cursor of the page before, with the same filters. Opaque. */
        readonly cursor?: string | undefined
      }
    }
    readonly answer: {
      readonly certs: readonly {
        /** SHA-256 of the certificate, hexadecimal. */
        readonly id: string
        /** ci, dpauth, dppb, dptls or eum. */
        readonly role: string
        /** P-256 or brainpoolP256r1. */
        readonly curve: string
        /** Key identifier of the CI above it (of a CI its own), hexadecimal. */
        readonly ci_pkid: string
        /** Registered id, dotted. */
        readonly owner: string | null
        readonly subject: string
        readonly issuer: string
        /** Hexadecimal. */
        readonly serial: string
        /** Host names and addresses that it is for. */
        readonly hosts: readonly string[]
        readonly not_before: string
        readonly not_after: string
        readonly added_at: string
        /** Whether its private key is here, sealed. No answer holds it. */
        readonly has_key: boolean
        /** Whether the private key of its CI is published (SGP.26): what is made with it is for tests alone. */
        readonly is_test: boolean
        /** Whether its issuer or somebody here has taken it back. */
        readonly revoked: boolean
        /** Whether sessions or the listener use it now. */
        readonly in_use: boolean
      }[]
      readonly next_cursor: string | null
    }
    readonly list: 'certs'
    readonly code: CommonCode | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'invalid_cursor' | 'invalid_limit' | 'rate_limited' | 'token_expired' | 'unauthenticated'
  }
  /** Show a certificate with its PEM; never its key. Roles: admin. */
  'GET /v1/esim/certs/{id}': {
    readonly request: {
      readonly path: {
        /** SHA-256 of the certificate. */
        readonly id: string
      }
    }
    readonly answer: {
      /** SHA-256 of the certificate, hexadecimal. */
      readonly id: string
      /** ci, dpauth, dppb, dptls or eum. */
      readonly role: string
      /** P-256 or brainpoolP256r1. */
      readonly curve: string
      /** Key identifier of the CI above it (of a CI its own), hexadecimal. */
      readonly ci_pkid: string
      /** Registered id, dotted. */
      readonly owner: string | null
      readonly subject: string
      readonly issuer: string
      /** Hexadecimal. */
      readonly serial: string
      /** Host names and addresses that it is for. */
      readonly hosts: readonly string[]
      readonly not_before: string
      readonly not_after: string
      readonly added_at: string
      /** Whether its private key is here, sealed. No answer holds it. */
      readonly has_key: boolean
      /** Whether the private key of its CI is published (SGP.26): what is made with it is for tests alone. */
      readonly is_test: boolean
      /** Whether its issuer or somebody here has taken it back. */
      readonly revoked: boolean
      /** Whether sessions or the listener use it now. */
      readonly in_use: boolean
      readonly pem: string
    }
    readonly code: CommonCode | 'certificate_revoked' | 'esim_cert_not_found' | 'feature_not_installed' | 'forbidden' | 'rate_limited' | 'token_expired' | 'unauthenticated'
  }
  /** Remove a certificate and its key. Roles: admin. */
  'DELETE /v1/esim/certs/{id}': {
    readonly request: {
      readonly path: {
        /** SHA-256 of the certificate. */
        readonly id: string
      }
    }
    readonly answer: undefined
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'esim_cert_conflict' | 'esim_cert_not_found' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** Import certificates and their private keys. Roles: admin. */
  'POST /v1/esim/certs/import': {
    readonly request: {
      readonly body: {
        readonly files: readonly {
          /** For messages. */
          readonly name: string
          readonly pem?: string
          /** DER or PEM. */
          readonly base64?: string
        }[]
        /** Also a CI whose private key is published (SGP.26) beside another one. */
        readonly force?: boolean
      }
    }
    readonly answer: {
      /** Those that are new. */
      readonly certs: readonly {
        /** SHA-256 of the certificate, hexadecimal. */
        readonly id: string
        /** ci, dpauth, dppb, dptls or eum. */
        readonly role: string
        /** P-256 or brainpoolP256r1. */
        readonly curve: string
        /** Key identifier of the CI above it (of a CI its own), hexadecimal. */
        readonly ci_pkid: string
        /** Registered id, dotted. */
        readonly owner: string | null
        readonly subject: string
        readonly issuer: string
        /** Hexadecimal. */
        readonly serial: string
        /** Host names and addresses that it is for. */
        readonly hosts: readonly string[]
        readonly not_before: string
        readonly not_after: string
        readonly added_at: string
        /** Whether its private key is here, sealed. No answer holds it. */
        readonly has_key: boolean
        /** Whether the private key of its CI is published (SGP.26): what is made with it is for tests alone. */
        readonly is_test: boolean
        /** Whether its issuer or somebody here has taken it back. */
        readonly revoked: boolean
        /** Whether sessions or the listener use it now. */
        readonly in_use: boolean
      }[]
      /** Certificates that were there already. */
      readonly unchanged: number
      /** Certificates that revocation lists among the files have taken back. */
      readonly revoked: number
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** Make the SM-DP+'s own test hierarchy. Roles: admin. */
  'POST /v1/esim/certs/init': {
    readonly request: {
      readonly body?: {
        /** Host name (or address) of the SM-DP+, for CERT.DPtls. That of esim.smdp_address when absent. */
        readonly host?: string
        /** Both when absent: a hierarchy is made on each. */
        readonly curves?: readonly ('P-256' | 'brainpoolP256r1')[]
        /** Also beside sets that are there. */
        readonly force?: boolean
      }
    }
    readonly answer: {
      readonly certs: readonly {
        /** SHA-256 of the certificate, hexadecimal. */
        readonly id: string
        /** ci, dpauth, dppb, dptls or eum. */
        readonly role: string
        /** P-256 or brainpoolP256r1. */
        readonly curve: string
        /** Key identifier of the CI above it (of a CI its own), hexadecimal. */
        readonly ci_pkid: string
        /** Registered id, dotted. */
        readonly owner: string | null
        readonly subject: string
        readonly issuer: string
        /** Hexadecimal. */
        readonly serial: string
        /** Host names and addresses that it is for. */
        readonly hosts: readonly string[]
        readonly not_before: string
        readonly not_after: string
        readonly added_at: string
        /** Whether its private key is here, sealed. No answer holds it. */
        readonly has_key: boolean
        /** Whether the private key of its CI is published (SGP.26): what is made with it is for tests alone. */
        readonly is_test: boolean
        /** Whether its issuer or somebody here has taken it back. */
        readonly revoked: boolean
        /** Whether sessions or the listener use it now. */
        readonly in_use: boolean
      }[]
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'esim_cert_conflict' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** Sign for a maker of eUICCs in software. Roles: admin. */
  'POST /v1/esim/certs/lab-eum': {
    readonly request: {
      readonly body: {
        /** One on each curve: SubjectPublicKeyInfo (DER) in base64. The private keys stay with their owner. */
        readonly public_keys: readonly string[]
      }
    }
    readonly answer: {
      readonly eums: readonly {
        readonly curve: string
        /** What EIDs of its eUICCs have to begin with. */
        readonly iin: string
        /** The certificate of the CI, DER in base64. */
        readonly ci: string
        /** CERT.EUM, DER in base64. */
        readonly eum: string
      }[]
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'esim_cert_conflict' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** Take back a certificate: of a maker of eUICCs, of an eUICC, or an own one. Roles: admin. */
  'POST /v1/esim/certs/revoke': {
    readonly request: {
      readonly body?: {
        /** Of one that is listed. */
        readonly id?: string
        /** Key identifier of the issuer: of the CI for an EUM, of the EUM for an eUICC. */
        readonly issuer?: string
        /** Hexadecimal. */
        readonly serial?: string
        /** Believe it again, when it was revoked here by hand. */
        readonly restore?: boolean
      }
    }
    readonly answer: {
      readonly issuer: string
      readonly serial: string
      readonly revoked: boolean
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'esim_cert_conflict' | 'esim_cert_not_found' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** List the activation codes, newest first. Roles: sim:issuer, sim:admin, admin. */
  'GET /v1/esim/codes': {
    readonly request: {
      readonly query?: {
        readonly state?: 'allocated' | 'confirmed' | 'released' | 'downloaded' | 'installed' | 'error' | 'revoked' | 'expired' | undefined
        readonly batch_id?: string | undefined
        /** The hash of a SIM. */
        readonly imsi?: string | undefined
        /** Page size. */
        readonly limit?: number | undefined
        /** The next_cursor of the page before, with the same filters. Opaque. */
        readonly cursor?: string | undefined
      }
    }
    readonly answer: {
      readonly codes: readonly {
        /** The code's own id. It opens nothing. */
        readonly token: string
        readonly imsi_sha256_12: string
        /** released, downloaded, installed, error, revoked or expired; more may come. */
        readonly state: string
        readonly created_at: string
        readonly expires_at: string
        /** How often the profile was delivered. */
        readonly downloads: number
        /** How often a phone has asked for it. */
        readonly attempts: number
        /** How often with a wrong confirmation code. */
        readonly confirmation_attempts: number
        /** End of the EID of the only eUICC that gets it. */
        readonly eid_last4: string | null
        readonly iccid_last4: string
        readonly confirmation_required: boolean
        readonly single_use: boolean
        /** By a restore: nobody gets the profile by it until it is reopened. */
        readonly closed: boolean
        readonly batch_id: string | null
        readonly last_error: string | null
        /** Where its profile is, as far as the eUICC has told; null: nowhere. */
        readonly profile: {
          /** delivered, installed, enabled, disabled, deleted or failed; more may come. */
          readonly state: string
          readonly eid_last4: string
          readonly installed_at: string | null
          readonly deleted_at: string | null
        } | null
      }[]
      readonly next_cursor: string | null
    }
    readonly list: 'codes'
    readonly code: CommonCode | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'invalid_cursor' | 'invalid_limit' | 'rate_limited' | 'token_expired' | 'unauthenticated'
  }
  /** One activation code. Roles: sim:issuer, sim:admin, admin. */
  'GET /v1/esim/codes/{token}': {
    readonly request: {
      readonly path: {
        readonly token: string
      }
    }
    readonly answer: {
      /** The code's own id. It opens nothing. */
      readonly token: string
      readonly imsi_sha256_12: string
      /** released, downloaded, installed, error, revoked or expired; more may come. */
      readonly state: string
      readonly created_at: string
      readonly expires_at: string
      /** How often the profile was delivered. */
      readonly downloads: number
      /** How often a phone has asked for it. */
      readonly attempts: number
      /** How often with a wrong confirmation code. */
      readonly confirmation_attempts: number
      /** End of the EID of the only eUICC that gets it. */
      readonly eid_last4: string | null
      readonly iccid_last4: string
      readonly confirmation_required: boolean
      readonly single_use: boolean
      /** By a restore: nobody gets the profile by it until it is reopened. */
      readonly closed: boolean
      readonly batch_id: string | null
      readonly last_error: string | null
      /** Where its profile is, as far as the eUICC has told; null: nowhere. */
      readonly profile: {
        /** delivered, installed, enabled, disabled, deleted or failed; more may come. */
        readonly state: string
        readonly eid_last4: string
        readonly installed_at: string | null
        readonly deleted_at: string | null
      } | null
    }
    readonly code: CommonCode | 'certificate_revoked' | 'esim_code_not_found' | 'feature_not_installed' | 'forbidden' | 'rate_limited' | 'token_expired' | 'unauthenticated'
  }
  /** The QR code of an activation code. Roles: sim:issuer, sim:admin, admin. */
  'GET /v1/esim/codes/{token}/qr': {
    readonly request: {
      readonly path: {
        readonly token: string
      }
    }
    readonly answer: string | Blob | {
      readonly token: string
      readonly activation_code: string
      readonly qr_text: string
    }
    readonly code: CommonCode | 'certificate_revoked' | 'esim_code_conflict' | 'esim_code_not_found' | 'esim_disabled' | 'feature_not_installed' | 'forbidden' | 'rate_limited' | 'token_expired' | 'unauthenticated'
  }
  /** List the eUICCs that have downloaded from here, and what became of their profiles. Roles: viewer, operator, sim:issuer, sim:admin, admin. */
  'GET /v1/esim/euiccs': {
    readonly request: {
      readonly query?: {
        /** Page size. */
        readonly limit?: number | undefined
        /** The next_cursor of the page before, with the same filters. Opaque. */
        readonly cursor?: string | undefined
      }
    }
    readonly answer: {
      readonly euiccs?: readonly {
        /** The first 12 characters of the SHA-256 of its EID. */
        readonly eid_sha256_12?: string
        /** Who answers for its EID: own (a CI whose key is here), test (a CI whose key is published), else the key identifier of its CI. Two that have the same EID by different ones are two. Null: last seen by a version that did not look. */
        readonly authority?: string | null
        readonly eid_last4?: string
        readonly first_seen_at?: string | null
        readonly last_seen_at?: string | null
        /** It has failed too often and has to wait until then. */
        readonly locked_until?: string | null
        /** Failed attempts since its last download, at most of a day. */
        readonly failures?: number
        readonly profiles?: readonly {
          /** The code that it was delivered by. */
          readonly token?: string
          readonly imsi_sha256_12?: string
          /** As the device last told; it tells when it can, and may be asked by its user not to. More values may be added within v1: treat an unknown one as something new, not as an error. */
          readonly state?: 'delivered' | 'installed' | 'enabled' | 'disabled' | 'deleted' | 'failed' | (string & {})
          readonly delivered_at?: string | null
          readonly installed_at?: string | null
          readonly enabled_at?: string | null
          readonly disabled_at?: string | null
          readonly deleted_at?: string | null
        }[]
      }[]
      readonly next_cursor?: string | null
    }
    readonly list: 'euiccs'
    readonly code: CommonCode | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'invalid_cursor' | 'invalid_limit' | 'rate_limited' | 'token_expired' | 'unauthenticated'
  }
  /** Issue activation codes. Roles: sim:issuer, sim:admin, admin. */
  'POST /v1/esim/issue': {
    readonly request: {
      readonly body?: {
        /** A code for this SIM. Absent, as batch_id: for a new one, whose properties stand beside. */
        readonly imsi_sha256_12?: string
        /** A code for each SIM of this batch or import that has none, at most 500 at a time; remaining says how many are left. */
        readonly batch_id?: string
        /** What the phone asks its user for. Tell it by another way than the code. */
        readonly confirmation_code?: string
        /** Until when the code can be used; esim.code_expiry when absent. */
        readonly expires_in?: string
        /** The only eUICC that gets the profile; whoever comes first when absent. */
        readonly eid?: string
        /** Key identifier of the CI that the eUICC of that EID is of. Needed where certificates of several are in use. */
        readonly ci_pkid?: string
        readonly count?: number
        /** default when absent. */
        readonly profile?: string
        /** Some of the policy's APNs; all of them when absent. */
        readonly apns?: readonly string[]
        readonly expires_at?: string
        readonly ambr?: {
          readonly downlink_bps: number
          readonly uplink_bps: number
        }
        readonly quota_bytes?: number
        /** The first subscriber number; the others follow. Drawn at random when absent. */
        readonly msin_start?: string
        /** One SIM with this very IMSI. */
        readonly imsi?: string
        /** Digits without a plus; for one SIM. */
        readonly msisdn?: string
        readonly label?: string
        /** A SIM swap: this SIM is revoked in the same transaction, and what is not said here is taken from it. */
        readonly replaces?: string
        /** Life of a new SIM; as POST /v1/sims when absent. */
        readonly sim_expires_in?: string
      }
    }
    readonly answer: {
      readonly token: string
      /** LPA:1$<address>$<matching id>. Shown here and by qr. */
      readonly activation_code: string
      readonly imsi_sha256_12: string
      /** released; more may come. */
      readonly state: string
      readonly confirmation_required: boolean
      readonly expires_at: string
      readonly iccid_last4: string
      readonly eid_last4: string | null
      readonly batch_id: string | null
      readonly codes?: readonly {
        readonly token: string
        /** LPA:1$<address>$<matching id>. Shown here and by qr. */
        readonly activation_code: string
        readonly imsi_sha256_12: string
        /** released; more may come. */
        readonly state: string
        readonly confirmation_required: boolean
        readonly expires_at: string
        readonly iccid_last4: string
        readonly eid_last4: string | null
        readonly batch_id: string | null
      }[]
      /** SIMs of the batch that have no code yet: ask again. */
      readonly remaining?: number
    }
    readonly code: CommonCode | 'body_too_large' | 'capacity_exceeded' | 'certificate_revoked' | 'esim_code_conflict' | 'esim_disabled' | 'esim_not_ready' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'not_found' | 'plmn_mismatch' | 'rate_limited' | 'request_timeout' | 'sim_exists' | 'sim_not_found' | 'sim_state_conflict' | 'sim_swap_cooldown' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** Revoke an activation code. Roles: sim:issuer, sim:admin, admin. */
  'POST /v1/esim/revoke': {
    readonly request: {
      readonly body: {
        readonly token: string
      }
    }
    readonly answer: {
      /** The code's own id. It opens nothing. */
      readonly token: string
      readonly imsi_sha256_12: string
      /** released, downloaded, installed, error, revoked or expired; more may come. */
      readonly state: string
      readonly created_at: string
      readonly expires_at: string
      /** How often the profile was delivered. */
      readonly downloads: number
      /** How often a phone has asked for it. */
      readonly attempts: number
      /** How often with a wrong confirmation code. */
      readonly confirmation_attempts: number
      /** End of the EID of the only eUICC that gets it. */
      readonly eid_last4: string | null
      readonly iccid_last4: string
      readonly confirmation_required: boolean
      readonly single_use: boolean
      /** By a restore: nobody gets the profile by it until it is reopened. */
      readonly closed: boolean
      readonly batch_id: string | null
      readonly last_error: string | null
      /** Where its profile is, as far as the eUICC has told; null: nowhere. */
      readonly profile: {
        /** delivered, installed, enabled, disabled, deleted or failed; more may come. */
        readonly state: string
        readonly eid_last4: string
        readonly installed_at: string | null
        readonly deleted_at: string | null
      } | null
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'esim_code_not_found' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** Cards of a batch to print. Roles: sim:issuer, sim:admin, admin. */
  'GET /v1/esim/sheet': {
    readonly request: {
      readonly query: {
        readonly batch: string
      }
    }
    readonly answer: string
    readonly code: CommonCode | 'certificate_revoked' | 'esim_disabled' | 'feature_not_installed' | 'forbidden' | 'not_found' | 'rate_limited' | 'token_expired' | 'unauthenticated'
  }
  /** Health of every component, agents included. Roles: viewer, operator, sim:issuer, sim:admin, admin. */
  'GET /v1/health': {
    readonly request: object
    readonly answer: {
      /** ok, degraded or down; more may come. */
      readonly status: string
      readonly components: readonly {
        readonly name: string
        /** core, hss, ran, collector, store, feature or peer; more may come. */
        readonly kind: string
        /** ok, degraded or down; more may come. */
        readonly status: string
        readonly detail: string
        /** Since when the status is what it is. */
        readonly since: string
        readonly last_ok_at: string | null
      }[]
    }
    readonly code: CommonCode | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'rate_limited' | 'token_expired' | 'unauthenticated'
  }
  /** Whether the process serves and its store answers. Public. */
  'GET /v1/healthz': {
    readonly request: object
    readonly answer: {
      readonly status: 'ok'
      readonly version: string
    }
    readonly code: CommonCode
  }
  /** Move this node to another lifecycle state. Roles: operator, admin. */
  'POST /v1/lifecycle/transition': {
    readonly request: {
      readonly body: {
        /** The current state. provision, register, on-air, peer or breakout; also as GET /v1/status calls it: bootstrap, registered, peered. Any other word is a transition that there is not: 409. degraded: whatever state lies below it. */
        readonly from: string
        /** provision, register, on-air, peer or breakout; also as GET /v1/status calls it: bootstrap, registered, peered. Any other word is a transition that there is not: 409. */
        readonly to: string
        /** Skips mesh prerequisites and nothing else; needs admin. No force passes the TX gate. */
        readonly force?: boolean
      }
    }
    readonly answer: {
      readonly node_id: string
      readonly from: string
      readonly to: string
      readonly at: string
      /** Whether a missing prerequisite was skipped. */
      readonly forced: boolean
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'invalid_transition' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** What is logged, by component, and until when. Roles: admin. */
  'GET /v1/log-level': {
    readonly request: object
    readonly answer: {
      /** That of the configuration: what holds where nothing else does. More values may be added within v1: treat an unknown one as something new, not as an error. */
      readonly level: 'debug' | 'info' | 'warn' | 'error' | (string & {})
      /** What writes into the log: plugins, and parts of the kernel. */
      readonly components: readonly string[]
      readonly holds: readonly {
        /** Null: all that have no level of their own. */
        readonly component: string | null
        /** More values may be added within v1: treat an unknown one as something new, not as an error. */
        readonly level: 'debug' | 'info' | 'warn' | 'error' | (string & {})
        /** Then the level of the configuration holds again. */
        readonly until: string
      }[]
    }
    readonly code: CommonCode | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'rate_limited' | 'token_expired' | 'unauthenticated'
  }
  /** Log more or less for a time, of one component or of all. Roles: admin. */
  'PUT /v1/log-level': {
    readonly request: {
      readonly body: {
        /** All when absent. */
        readonly component?: string
        readonly level: 'debug' | 'info' | 'warn' | 'error' | null
        readonly for?: string
      }
    }
    readonly answer: {
      /** That of the configuration: what holds where nothing else does. More values may be added within v1: treat an unknown one as something new, not as an error. */
      readonly level: 'debug' | 'info' | 'warn' | 'error' | (string & {})
      /** What writes into the log: plugins, and parts of the kernel. */
      readonly components: readonly string[]
      readonly holds: readonly {
        /** Null: all that have no level of their own. */
        readonly component: string | null
        /** More values may be added within v1: treat an unknown one as something new, not as an error. */
        readonly level: 'debug' | 'info' | 'warn' | 'error' | (string & {})
        /** Then the level of the configuration holds again. */
        readonly until: string
      }[]
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** What the way out of this machine has carried, by month. Roles: viewer, operator, sim:issuer, sim:admin, admin. */
  'GET /v1/mesh/backhaul': {
    readonly request: {
      readonly query?: {
        readonly months?: number | undefined
      }
    }
    readonly answer: {
      /** Those that have a default route now and are counted; not that of the mesh. */
      readonly interfaces: readonly string[]
      /** What may be carried in a month, peering.backhaul_cap_bytes; null when nothing is said. */
      readonly cap_bytes: number | null
      /** Newest first; without those in which nothing was counted. */
      readonly months: readonly {
        /** By the time zone of the box. */
        readonly month: string
        readonly received_bytes: number
        readonly sent_bytes: number
        readonly total_bytes: number
        /** Since when it was counted: later than its first day when it began within it. */
        readonly from: string
        /** When it was last counted. */
        readonly until: string
      }[]
    }
    readonly code: CommonCode | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'rate_limited' | 'token_expired' | 'unauthenticated'
  }
  /** The CA of the mesh that this node is in. Public. */
  'GET /v1/mesh/ca': {
    readonly request: object
    readonly answer: {
      readonly ca_pem: string
    }
    readonly code: CommonCode | 'feature_not_installed' | 'rate_limited'
  }
  /** Get a nonce to renew a certificate that has expired. Public. */
  'GET /v1/mesh/challenge': {
    readonly request: object
    readonly answer: {
      readonly nonce: string
      readonly expires_in_s: number
    }
    readonly code: CommonCode | 'feature_not_installed' | 'rate_limited'
  }
  /** The revoked certificates of the mesh, signed by its CA. Public. */
  'GET /v1/mesh/crl': {
    readonly request: object
    readonly answer: {
      readonly number: number
      readonly crl_pem: string
    }
    readonly code: CommonCode | 'feature_not_installed' | 'not_found' | 'rate_limited'
  }
  /** Invite another box into the mesh of this node. Roles: admin. */
  'POST /v1/mesh/invite': {
    readonly request: {
      readonly body?: {
        readonly name?: string
        /** No other node can use the token. */
        readonly node_id?: string
        readonly expires_in?: string
      }
    }
    readonly answer: {
      /** The id of the token, as DELETE /v1/tokens/{id} takes it. */
      readonly id: string
      readonly token: string
      /** Where to join, with the id of this node behind #. */
      readonly url: string
      readonly command: string
      readonly mesh: {
        readonly name: string
      }
      readonly ca_sha256: string
      /** Twelve words of the BIP-39 list: 128 bits of the hash. */
      readonly ca_words: string
      readonly expires_at: string
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'node_state_conflict' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** Join the mesh that an invitation is for. Roles: admin. */
  'POST /v1/mesh/join': {
    readonly request: {
      readonly body: {
        readonly token: string
        readonly url: string
        readonly name?: string
        /** Where the API of this node answers, for the other members. */
        readonly address?: string
        /** Leave the mesh that this node is a member of once the new root has let it in. The old one, which is lost, hears nothing of it. */
        readonly leave?: boolean
      }
    }
    readonly answer: {
      readonly mesh: {
        readonly name: string
        readonly root_node_id: string
      }
      readonly root_url: string
      readonly overlay_address: string
      readonly ca_sha256: string
      readonly ca_words: string
      readonly joined_at: string
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'node_state_conflict' | 'rate_limited' | 'request_timeout' | 'southbound_unavailable' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** The members of the mesh, and the revoked certificates. Roles: operator, admin, node. */
  'GET /v1/mesh/members': {
    readonly request: {
      readonly query?: {
        readonly after?: number | undefined
        readonly wait_s?: number | undefined
      }
    }
    readonly answer: {
      readonly mesh: {
        readonly name: string
        readonly root_node_id: string
      }
      readonly subnet: string
      readonly revision: number
      readonly crl_number: number | null
      readonly crl_pem: string | null
      readonly members: readonly {
        readonly node_id: string
        readonly name: string
        readonly is_root: boolean
        readonly overlay_address: string
        /** Where its API answers, host:port. */
        readonly address: string | null
        readonly joined_at: string
        readonly wireguard: {
          readonly public_key: string
          readonly next_public_key?: string | null
          readonly prepared?: readonly string[]
          /** host:port; null: where the root sees the node come from, with listen_port. */
          readonly endpoint?: string | null
          readonly listen_port: number
          readonly advertised: readonly string[]
          /** What the node routes to members now: the id of the member and the network, with a space between. */
          readonly takes?: readonly string[]
        } | null
        /** Of its certificates: who hears that all of them are revoked knows that it is out. */
        readonly serials?: readonly string[]
      }[]
    }
    readonly code: CommonCode | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'node_state_conflict' | 'rate_limited' | 'token_expired' | 'unauthenticated'
  }
  /** Tell the others of the WireGuard interface of a member. Roles: node. */
  'PUT /v1/mesh/members/{id}/wireguard': {
    readonly request: {
      readonly path: {
        readonly id: string
      }
      readonly body: {
        readonly public_key: string
        readonly next_public_key?: string | null
        readonly prepared?: readonly string[]
        /** host:port; null: where the root sees the node come from, with listen_port. */
        readonly endpoint?: string | null
        readonly listen_port: number
        readonly advertised: readonly string[]
        /** What the node routes to members now: the id of the member and the network, with a space between. */
        readonly takes?: readonly string[]
        /** Where the API of the node answers, host:port; null: nowhere for others. As it was when absent. */
        readonly address?: string | null
      }
    }
    readonly answer: {
      readonly revision: number
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'node_not_found' | 'node_state_conflict' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** Renew a certificate that has expired and is not revoked. Public. */
  'POST /v1/mesh/renew': {
    readonly request: {
      readonly body: {
        readonly certificate_pem: string
        readonly csr_pem: string
        readonly nonce: string
        readonly signature: string
      }
    }
    readonly answer: {
      readonly node_id: string
      readonly certificate_pem: string
      readonly ca_pem: string
      readonly expires_at: string
      readonly mesh: {
        readonly name: string
        readonly root_node_id: string
      }
      /** IPv4 address of the node in the mesh, for good. */
      readonly overlay_address: string
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'malformed_json' | 'node_state_conflict' | 'rate_limited' | 'request_timeout' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** Tell this member where its root answers now. Roles: admin. */
  'POST /v1/mesh/root-address': {
    readonly request: {
      readonly body: {
        readonly url: string
      }
    }
    readonly answer: {
      readonly root_url: string
      readonly root_node_id: string
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'node_state_conflict' | 'rate_limited' | 'request_timeout' | 'southbound_unavailable' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** Become the root in the place of one that is lost. Roles: admin. */
  'POST /v1/mesh/take-root': {
    readonly request: {
      readonly body?: {
        readonly force?: boolean
      }
    }
    readonly answer: {
      readonly mesh: {
        readonly name: string
      }
      readonly url: string
      readonly ca_words: string
      /** Null without other members. */
      readonly expires_at: string | null
      readonly invitations: readonly {
        readonly node_id: string
        readonly name: string
        /** To be given on that box, once. */
        readonly command: string
      }[]
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'node_state_conflict' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** List the nodes, oldest first. Roles: viewer, operator, sim:issuer, sim:admin, admin. */
  'GET /v1/nodes': {
    readonly request: {
      readonly query?: {
        /** Page size. */
        readonly limit?: number | undefined
        /** The next_cursor of the page before, with the same filters. Opaque. */
        readonly cursor?: string | undefined
      }
    }
    readonly answer: {
      readonly nodes: readonly {
        readonly node_id: string
        readonly name: string
        /** bootstrap, registered, on-air, peered or degraded; more may come. */
        readonly state: string
        /** MCC-MNC, as the node says; of this one until it has. */
        readonly plmn: string
        /** Last heartbeat; for this node without an agent, now. */
        readonly last_seen: string
        /** The lifecycle state under the status, spelled as in requests. */
        readonly lifecycle: string
        readonly degraded_reason: string | null
        /** Of the service there; null until the node has told. */
        readonly version: string | null
        /** Whether TX is armed there; null until the node has told, and while the policy cannot be read. */
        readonly on_air: boolean | null
      }[]
      readonly next_cursor: string | null
    }
    readonly list: 'nodes'
    readonly code: CommonCode | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'invalid_cursor' | 'invalid_limit' | 'rate_limited' | 'token_expired' | 'unauthenticated'
  }
  /** Whether a node is enrolled and until when its certificate is valid. Roles: viewer, operator, sim:issuer, sim:admin, admin. */
  'GET /v1/nodes/{id}/enroll': {
    readonly request: {
      readonly path: {
        readonly id: string
      }
    }
    readonly answer: {
      readonly node_id: string
      /** Whether it holds a valid certificate of the mesh CA. */
      readonly enrolled: boolean
      /** The lifecycle state, spelled as in requests. */
      readonly state: string
      readonly enrolled_at: string | null
      readonly certificate_expires_at: string | null
    }
    readonly code: CommonCode | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'node_not_found' | 'rate_limited' | 'token_expired' | 'unauthenticated'
  }
  /** Let a node into the mesh, or renew its certificate. Roles: bootstrap, node. */
  'POST /v1/nodes/{id}/enroll': {
    readonly request: {
      readonly path: {
        readonly id: string
      }
      readonly body: {
        /** PKCS#10, ECDSA P-256, at most 4 KiB. Its subject is passed over; one that asks to be a CA, or for a name that is not its own, is refused. */
        readonly csr_pem: string
        readonly name: string
        /** Where the API of the node answers, host:port. */
        readonly address?: string
      }
    }
    readonly answer: {
      readonly node_id: string
      readonly certificate_pem: string
      readonly ca_pem: string
      readonly expires_at: string
      readonly mesh: {
        readonly name: string
        readonly root_node_id: string
      }
      /** IPv4 address of the node in the mesh, for good. */
      readonly overlay_address: string
    }
    readonly code: CommonCode | 'body_too_large' | 'bootstrap_token_invalid' | 'capacity_exceeded' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'node_state_conflict' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** Whether and when a node left the mesh. Roles: viewer, operator, sim:issuer, sim:admin, admin. */
  'GET /v1/nodes/{id}/leave': {
    readonly request: {
      readonly path: {
        readonly id: string
      }
    }
    readonly answer: {
      readonly node_id: string
      readonly left: boolean
      /** The lifecycle state, spelled as in requests. */
      readonly state: string
      readonly left_at: string | null
    }
    readonly code: CommonCode | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'node_not_found' | 'rate_limited' | 'token_expired' | 'unauthenticated'
  }
  /** Take a node out of the mesh. Roles: admin, node. */
  'POST /v1/nodes/{id}/leave': {
    readonly request: {
      readonly path: {
        readonly id: string
      }
    }
    readonly answer: {
      readonly node_id: string
      readonly left: boolean
      readonly left_at: string | null
      /** false: the root could not be reached; remove the node there too. */
      readonly root_told: boolean
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'node_not_found' | 'node_state_conflict' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** This API as an OpenAPI 3.1 document. Public. */
  'GET /v1/openapi.json': {
    readonly request: object
    readonly answer: Readonly<Record<string, unknown>>
    readonly code: CommonCode | 'rate_limited'
  }
  /** List the peers: links to other boxes, their routes and health. Roles: viewer, operator, sim:issuer, sim:admin, admin. */
  'GET /v1/peers': {
    readonly request: {
      readonly query?: {
        /** Those that were removed, instead. */
        readonly removed?: boolean | undefined
        /** Page size. */
        readonly limit?: number | undefined
        /** The next_cursor of the page before, with the same filters. Opaque. */
        readonly cursor?: string | undefined
      }
    }
    readonly answer: {
      readonly peers: readonly {
        readonly id: string
        readonly name: string
        /** suggested, pending (never a handshake), active (handshake < 180 s old), stale, removed. More may come. */
        readonly state: string
        /** static, mdns, mesh. More may come. */
        readonly source: string
        /** wg://host:port; null: it is not known, the peer comes by itself. */
        readonly endpoint: string | null
        readonly public_key?: string | null
        /** The key that the peer goes over to. */
        readonly next_public_key?: string | null
        readonly handshake_age_s: number | null
        /** The same as serving. */
        readonly routes: readonly string[]
        /** What the peer offers to carry. */
        readonly advertised?: readonly string[]
        /** What of it an operator has approved. */
        readonly approved?: readonly string[]
        /** What is routed to it now. */
        readonly serving?: readonly string[]
        /** Its own address in the overlay. */
        readonly address?: string | null
        readonly rx_bytes?: number
        readonly tx_bytes?: number
        /** Of the last echo through the link; null when none came back. */
        readonly rtt_ms?: number | null
        readonly keepalive_s?: number
        /** Why it is not active. */
        readonly reason?: string | null
        /** Where its packets came from last. */
        readonly last_endpoint?: string | null
        readonly disabled?: boolean
        readonly has_preshared_key?: boolean
        readonly node_id?: string | null
        /** SHA-256 of a suggested node's certificate. */
        readonly fingerprint?: string | null
      }[]
      readonly next_cursor: string | null
    }
    readonly list: 'peers'
    readonly code: CommonCode | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'invalid_cursor' | 'invalid_limit' | 'rate_limited' | 'token_expired' | 'unauthenticated'
  }
  /** Add a peer. Roles: operator, admin. */
  'POST /v1/peers': {
    readonly request: {
      readonly body: {
        readonly name: string
        /** wg://host:port */
        readonly endpoint: string
        readonly public_key: string
        /** Networks behind the peer; none when absent. The first single address is its own. */
        readonly routes?: readonly string[]
        readonly preshared_key?: string
        /** Seconds; 25 when absent. Without traffic a link without it would go stale. */
        readonly keepalive_s?: number
      }
    }
    readonly answer: {
      readonly id: string
      readonly name: string
      /** suggested, pending (never a handshake), active (handshake < 180 s old), stale, removed. More may come. */
      readonly state: string
      /** static, mdns, mesh. More may come. */
      readonly source: string
      /** wg://host:port; null: it is not known, the peer comes by itself. */
      readonly endpoint: string | null
      readonly public_key?: string | null
      /** The key that the peer goes over to. */
      readonly next_public_key?: string | null
      readonly handshake_age_s: number | null
      /** The same as serving. */
      readonly routes: readonly string[]
      /** What the peer offers to carry. */
      readonly advertised?: readonly string[]
      /** What of it an operator has approved. */
      readonly approved?: readonly string[]
      /** What is routed to it now. */
      readonly serving?: readonly string[]
      /** Its own address in the overlay. */
      readonly address?: string | null
      readonly rx_bytes?: number
      readonly tx_bytes?: number
      /** Of the last echo through the link; null when none came back. */
      readonly rtt_ms?: number | null
      readonly keepalive_s?: number
      /** Why it is not active. */
      readonly reason?: string | null
      /** Where its packets came from last. */
      readonly last_endpoint?: string | null
      readonly disabled?: boolean
      readonly has_preshared_key?: boolean
      readonly node_id?: string | null
      /** SHA-256 of a suggested node's certificate. */
      readonly fingerprint?: string | null
    }
    readonly code: CommonCode | 'body_too_large' | 'capacity_exceeded' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'peer_exists' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** One peer. Roles: viewer, operator, sim:issuer, sim:admin, admin. */
  'GET /v1/peers/{id}': {
    readonly request: {
      readonly path: {
        readonly id: string
      }
    }
    readonly answer: {
      readonly id: string
      readonly name: string
      /** suggested, pending (never a handshake), active (handshake < 180 s old), stale, removed. More may come. */
      readonly state: string
      /** static, mdns, mesh. More may come. */
      readonly source: string
      /** wg://host:port; null: it is not known, the peer comes by itself. */
      readonly endpoint: string | null
      readonly public_key?: string | null
      /** The key that the peer goes over to. */
      readonly next_public_key?: string | null
      readonly handshake_age_s: number | null
      /** The same as serving. */
      readonly routes: readonly string[]
      /** What the peer offers to carry. */
      readonly advertised?: readonly string[]
      /** What of it an operator has approved. */
      readonly approved?: readonly string[]
      /** What is routed to it now. */
      readonly serving?: readonly string[]
      /** Its own address in the overlay. */
      readonly address?: string | null
      readonly rx_bytes?: number
      readonly tx_bytes?: number
      /** Of the last echo through the link; null when none came back. */
      readonly rtt_ms?: number | null
      readonly keepalive_s?: number
      /** Why it is not active. */
      readonly reason?: string | null
      /** Where its packets came from last. */
      readonly last_endpoint?: string | null
      readonly disabled?: boolean
      readonly has_preshared_key?: boolean
      readonly node_id?: string | null
      /** SHA-256 of a suggested node's certificate. */
      readonly fingerprint?: string | null
    }
    readonly code: CommonCode | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'peer_not_found' | 'rate_limited' | 'token_expired' | 'unauthenticated'
  }
  /** Remove a peer. Roles: operator, admin. */
  'DELETE /v1/peers/{id}': {
    readonly request: {
      readonly path: {
        readonly id: string
      }
    }
    readonly answer: undefined
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'peer_not_found' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** Accept a suggested peer. Roles: operator, admin. */
  'POST /v1/peers/{id}/accept': {
    readonly request: {
      readonly path: {
        readonly id: string
      }
      readonly body?: Readonly<Record<string, never>>
    }
    readonly answer: {
      readonly id: string
      readonly name: string
      /** suggested, pending (never a handshake), active (handshake < 180 s old), stale, removed. More may come. */
      readonly state: string
      /** static, mdns, mesh. More may come. */
      readonly source: string
      /** wg://host:port; null: it is not known, the peer comes by itself. */
      readonly endpoint: string | null
      readonly public_key?: string | null
      /** The key that the peer goes over to. */
      readonly next_public_key?: string | null
      readonly handshake_age_s: number | null
      /** The same as serving. */
      readonly routes: readonly string[]
      /** What the peer offers to carry. */
      readonly advertised?: readonly string[]
      /** What of it an operator has approved. */
      readonly approved?: readonly string[]
      /** What is routed to it now. */
      readonly serving?: readonly string[]
      /** Its own address in the overlay. */
      readonly address?: string | null
      readonly rx_bytes?: number
      readonly tx_bytes?: number
      /** Of the last echo through the link; null when none came back. */
      readonly rtt_ms?: number | null
      readonly keepalive_s?: number
      /** Why it is not active. */
      readonly reason?: string | null
      /** Where its packets came from last. */
      readonly last_endpoint?: string | null
      readonly disabled?: boolean
      readonly has_preshared_key?: boolean
      readonly node_id?: string | null
      /** SHA-256 of a suggested node's certificate. */
      readonly fingerprint?: string | null
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'peer_exists' | 'peer_not_found' | 'peer_untrusted' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** Approve the routes of a peer. Roles: operator, admin. */
  'POST /v1/peers/{id}/approve': {
    readonly request: {
      readonly path: {
        readonly id: string
      }
      readonly body: {
        readonly routes: readonly string[]
      }
    }
    readonly answer: {
      readonly id: string
      readonly name: string
      /** suggested, pending (never a handshake), active (handshake < 180 s old), stale, removed. More may come. */
      readonly state: string
      /** static, mdns, mesh. More may come. */
      readonly source: string
      /** wg://host:port; null: it is not known, the peer comes by itself. */
      readonly endpoint: string | null
      readonly public_key?: string | null
      /** The key that the peer goes over to. */
      readonly next_public_key?: string | null
      readonly handshake_age_s: number | null
      /** The same as serving. */
      readonly routes: readonly string[]
      /** What the peer offers to carry. */
      readonly advertised?: readonly string[]
      /** What of it an operator has approved. */
      readonly approved?: readonly string[]
      /** What is routed to it now. */
      readonly serving?: readonly string[]
      /** Its own address in the overlay. */
      readonly address?: string | null
      readonly rx_bytes?: number
      readonly tx_bytes?: number
      /** Of the last echo through the link; null when none came back. */
      readonly rtt_ms?: number | null
      readonly keepalive_s?: number
      /** Why it is not active. */
      readonly reason?: string | null
      /** Where its packets came from last. */
      readonly last_endpoint?: string | null
      readonly disabled?: boolean
      readonly has_preshared_key?: boolean
      readonly node_id?: string | null
      /** SHA-256 of a suggested node's certificate. */
      readonly fingerprint?: string | null
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'node_state_conflict' | 'peer_not_found' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** Prepare for the next key of a peer. Roles: operator, admin. */
  'POST /v1/peers/{id}/rotate': {
    readonly request: {
      readonly path: {
        readonly id: string
      }
      readonly body: {
        readonly public_key: string
      }
    }
    readonly answer: {
      readonly id: string
      readonly name: string
      /** suggested, pending (never a handshake), active (handshake < 180 s old), stale, removed. More may come. */
      readonly state: string
      /** static, mdns, mesh. More may come. */
      readonly source: string
      /** wg://host:port; null: it is not known, the peer comes by itself. */
      readonly endpoint: string | null
      readonly public_key?: string | null
      /** The key that the peer goes over to. */
      readonly next_public_key?: string | null
      readonly handshake_age_s: number | null
      /** The same as serving. */
      readonly routes: readonly string[]
      /** What the peer offers to carry. */
      readonly advertised?: readonly string[]
      /** What of it an operator has approved. */
      readonly approved?: readonly string[]
      /** What is routed to it now. */
      readonly serving?: readonly string[]
      /** Its own address in the overlay. */
      readonly address?: string | null
      readonly rx_bytes?: number
      readonly tx_bytes?: number
      /** Of the last echo through the link; null when none came back. */
      readonly rtt_ms?: number | null
      readonly keepalive_s?: number
      /** Why it is not active. */
      readonly reason?: string | null
      /** Where its packets came from last. */
      readonly last_endpoint?: string | null
      readonly disabled?: boolean
      readonly has_preshared_key?: boolean
      readonly node_id?: string | null
      /** SHA-256 of a suggested node's certificate. */
      readonly fingerprint?: string | null
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'node_state_conflict' | 'peer_exists' | 'peer_not_found' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** Change this node's WireGuard key without losing a link. Roles: operator, admin. */
  'POST /v1/peers/rotate': {
    readonly request: {
      readonly body?: {
        /** Go over now, whoever knows of it. */
        readonly force?: boolean
      }
    }
    readonly answer: {
      readonly interface: string
      readonly listen_port: number
      /** This node's address in the overlay. */
      readonly address?: string | null
      readonly public_key: string | null
      /** The key that this node goes over to. */
      readonly next_public_key: string | null
      /** Names of active peers that do not know the next key, as far as can be known. */
      readonly waiting_for: readonly string[]
      /** Why links cannot be made. */
      readonly problem: string | null
      /** Peers on the interface that this service did not make. */
      readonly foreign_peers?: number
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'southbound_unavailable' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** What another box must know of this one to be its peer. Roles: viewer, operator, sim:issuer, sim:admin, admin. */
  'GET /v1/peers/self': {
    readonly request: object
    readonly answer: {
      readonly interface: string
      readonly listen_port: number
      /** This node's address in the overlay. */
      readonly address?: string | null
      readonly public_key: string | null
      /** The key that this node goes over to. */
      readonly next_public_key: string | null
      /** Names of active peers that do not know the next key, as far as can be known. */
      readonly waiting_for: readonly string[]
      /** Why links cannot be made. */
      readonly problem: string | null
      /** Peers on the interface that this service did not make. */
      readonly foreign_peers?: number
    }
    readonly code: CommonCode | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'rate_limited' | 'token_expired' | 'unauthenticated'
  }
  /** Every plugin that is known, with its state. Roles: admin. */
  'GET /v1/plugins': {
    readonly request: {
      readonly query?: {
        /** Page size. */
        readonly limit?: number | undefined
        /** The next_cursor of the page before, with the same filters. Opaque. */
        readonly cursor?: string | undefined
      }
    }
    readonly answer: {
      readonly plugins: readonly {
        readonly name: string
        readonly version: string
        /** core, hss, ran, collector or feature; null when the package is unusable. */
        readonly kind: string | null
        /** found, rejected, disabled, loading, running, needs_config, failed or unloaded. May grow. */
        readonly state: string
        /** inline: every plugin runs in the process of the service. */
        readonly isolation: string | null
        /** ok, degraded, down or unknown. May grow. */
        readonly health: string
        readonly loaded_at: string | null
        /** Why the running copy was loaded then: the start of the service, a request, another version, changed keys. */
        readonly loaded_because: string | null
        /** The last failure: step and reason; of needs_config the key that has no value, or a wrong one. */
        readonly error: string | null
        readonly essential: boolean
        readonly versions: readonly string[]
        /** Those of the versions that were installed, and can be uninstalled. */
        readonly installed: readonly string[]
        /** Who has signed this version, by name and key; null for one of the build and an unsigned one. */
        readonly signed_by: string | null
      }[]
      readonly next_cursor: string | null
    }
    readonly list: 'plugins'
    readonly code: CommonCode | 'certificate_revoked' | 'forbidden' | 'invalid_cursor' | 'invalid_limit' | 'rate_limited' | 'token_expired' | 'unauthenticated'
  }
  /** Installs a signed package and loads it. Roles: admin. */
  'POST /v1/plugins': {
    readonly request: {
      readonly body: { readonly type: 'application/gzip' | 'application/octet-stream'; readonly content: RawBody }
    }
    readonly answer: {
      readonly name: string
      readonly version: string
      /** core, hss, ran, collector or feature; null when the package is unusable. */
      readonly kind: string | null
      /** found, rejected, disabled, loading, running, needs_config, failed or unloaded. May grow. */
      readonly state: string
      /** inline: every plugin runs in the process of the service. */
      readonly isolation: string | null
      /** ok, degraded, down or unknown. May grow. */
      readonly health: string
      readonly loaded_at: string | null
      /** Why the running copy was loaded then: the start of the service, a request, another version, changed keys. */
      readonly loaded_because: string | null
      /** The last failure: step and reason; of needs_config the key that has no value, or a wrong one. */
      readonly error: string | null
      readonly essential: boolean
      readonly versions: readonly string[]
      /** Those of the versions that were installed, and can be uninstalled. */
      readonly installed: readonly string[]
      /** Who has signed this version, by name and key; null for one of the build and an unsigned one. */
      readonly signed_by: string | null
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'plugin_state_conflict' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** Withdraws a plugin for good: no start loads it. Roles: admin. */
  'POST /v1/plugins/{name}/disable': {
    readonly request: {
      readonly path: {
        readonly name: string
      }
    }
    readonly answer: {
      readonly name: string
      readonly version: string
      /** core, hss, ran, collector or feature; null when the package is unusable. */
      readonly kind: string | null
      /** found, rejected, disabled, loading, running, needs_config, failed or unloaded. May grow. */
      readonly state: string
      /** inline: every plugin runs in the process of the service. */
      readonly isolation: string | null
      /** ok, degraded, down or unknown. May grow. */
      readonly health: string
      readonly loaded_at: string | null
      /** Why the running copy was loaded then: the start of the service, a request, another version, changed keys. */
      readonly loaded_because: string | null
      /** The last failure: step and reason; of needs_config the key that has no value, or a wrong one. */
      readonly error: string | null
      readonly essential: boolean
      readonly versions: readonly string[]
      /** Those of the versions that were installed, and can be uninstalled. */
      readonly installed: readonly string[]
      /** Who has signed this version, by name and key; null for one of the build and an unsigned one. */
      readonly signed_by: string | null
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'plugin_not_found' | 'plugin_state_conflict' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** Loads a plugin that was disabled, at each start from now on. Roles: admin. */
  'POST /v1/plugins/{name}/enable': {
    readonly request: {
      readonly path: {
        readonly name: string
      }
    }
    readonly answer: {
      readonly name: string
      readonly version: string
      /** core, hss, ran, collector or feature; null when the package is unusable. */
      readonly kind: string | null
      /** found, rejected, disabled, loading, running, needs_config, failed or unloaded. May grow. */
      readonly state: string
      /** inline: every plugin runs in the process of the service. */
      readonly isolation: string | null
      /** ok, degraded, down or unknown. May grow. */
      readonly health: string
      readonly loaded_at: string | null
      /** Why the running copy was loaded then: the start of the service, a request, another version, changed keys. */
      readonly loaded_because: string | null
      /** The last failure: step and reason; of needs_config the key that has no value, or a wrong one. */
      readonly error: string | null
      readonly essential: boolean
      readonly versions: readonly string[]
      /** Those of the versions that were installed, and can be uninstalled. */
      readonly installed: readonly string[]
      /** Who has signed this version, by name and key; null for one of the build and an unsigned one. */
      readonly signed_by: string | null
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'plugin_not_found' | 'plugin_state_conflict' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** Loads a plugin, or another version of a running one. Roles: admin. */
  'POST /v1/plugins/{name}/load': {
    readonly request: {
      readonly path: {
        readonly name: string
      }
      readonly body?: {
        /** Exactly this one; the highest found when absent. */
        readonly version?: string
        /** Allows a version below the running one. */
        readonly rollback?: boolean
        /** The folder in the plugins directory that it must come from, by its name. */
        readonly folder?: string
      }
    }
    readonly answer: {
      readonly name: string
      readonly version: string
      /** core, hss, ran, collector or feature; null when the package is unusable. */
      readonly kind: string | null
      /** found, rejected, disabled, loading, running, needs_config, failed or unloaded. May grow. */
      readonly state: string
      /** inline: every plugin runs in the process of the service. */
      readonly isolation: string | null
      /** ok, degraded, down or unknown. May grow. */
      readonly health: string
      readonly loaded_at: string | null
      /** Why the running copy was loaded then: the start of the service, a request, another version, changed keys. */
      readonly loaded_because: string | null
      /** The last failure: step and reason; of needs_config the key that has no value, or a wrong one. */
      readonly error: string | null
      readonly essential: boolean
      readonly versions: readonly string[]
      /** Those of the versions that were installed, and can be uninstalled. */
      readonly installed: readonly string[]
      /** Who has signed this version, by name and key; null for one of the build and an unsigned one. */
      readonly signed_by: string | null
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'plugin_not_found' | 'plugin_state_conflict' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** Starts a new copy of the running version. Roles: admin. */
  'POST /v1/plugins/{name}/reload': {
    readonly request: {
      readonly path: {
        readonly name: string
      }
    }
    readonly answer: {
      readonly name: string
      readonly version: string
      /** core, hss, ran, collector or feature; null when the package is unusable. */
      readonly kind: string | null
      /** found, rejected, disabled, loading, running, needs_config, failed or unloaded. May grow. */
      readonly state: string
      /** inline: every plugin runs in the process of the service. */
      readonly isolation: string | null
      /** ok, degraded, down or unknown. May grow. */
      readonly health: string
      readonly loaded_at: string | null
      /** Why the running copy was loaded then: the start of the service, a request, another version, changed keys. */
      readonly loaded_because: string | null
      /** The last failure: step and reason; of needs_config the key that has no value, or a wrong one. */
      readonly error: string | null
      readonly essential: boolean
      readonly versions: readonly string[]
      /** Those of the versions that were installed, and can be uninstalled. */
      readonly installed: readonly string[]
      /** Who has signed this version, by name and key; null for one of the build and an unsigned one. */
      readonly signed_by: string | null
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'plugin_not_found' | 'plugin_state_conflict' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** The secrets that a plugin keeps, and where each value is. Roles: admin. */
  'GET /v1/plugins/{name}/secrets': {
    readonly request: {
      readonly path: {
        readonly name: string
      }
    }
    readonly answer: {
      readonly secrets: readonly {
        readonly key: string
        /** file (its path is in the configuration), store or nowhere. May grow. */
        readonly from: string
      }[]
    }
    readonly code: CommonCode | 'certificate_revoked' | 'forbidden' | 'plugin_not_found' | 'rate_limited' | 'token_expired' | 'unauthenticated'
  }
  /** Seals the value of a secret of a plugin, which alone can read it. Roles: admin. */
  'PUT /v1/plugins/{name}/secrets/{key}': {
    readonly request: {
      readonly path: {
        readonly name: string
        readonly key: string
      }
      readonly body: {
        /** It is never shown again. */
        readonly value: string
      }
    }
    readonly answer: {
      readonly key: string
      /** file (its path is in the configuration), store or nowhere. May grow. */
      readonly from: string
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'not_found' | 'plugin_not_found' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** Removes the sealed value of a secret. Roles: admin. */
  'DELETE /v1/plugins/{name}/secrets/{key}': {
    readonly request: {
      readonly path: {
        readonly name: string
        readonly key: string
      }
    }
    readonly answer: {
      readonly key: string
      /** file (its path is in the configuration), store or nowhere. May grow. */
      readonly from: string
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'not_found' | 'plugin_not_found' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** Removes what was installed of a plugin; one of the build takes its place again. Roles: admin. */
  'POST /v1/plugins/{name}/uninstall': {
    readonly request: {
      readonly path: {
        readonly name: string
      }
      readonly body?: {
        /** Only this one; all of them when absent. */
        readonly version?: string
      }
    }
    readonly answer: {
      readonly name: string
      readonly version: string
      /** core, hss, ran, collector or feature; null when the package is unusable. */
      readonly kind: string | null
      /** found, rejected, disabled, loading, running, needs_config, failed or unloaded. May grow. */
      readonly state: string
      /** inline: every plugin runs in the process of the service. */
      readonly isolation: string | null
      /** ok, degraded, down or unknown. May grow. */
      readonly health: string
      readonly loaded_at: string | null
      /** Why the running copy was loaded then: the start of the service, a request, another version, changed keys. */
      readonly loaded_because: string | null
      /** The last failure: step and reason; of needs_config the key that has no value, or a wrong one. */
      readonly error: string | null
      readonly essential: boolean
      readonly versions: readonly string[]
      /** Those of the versions that were installed, and can be uninstalled. */
      readonly installed: readonly string[]
      /** Who has signed this version, by name and key; null for one of the build and an unsigned one. */
      readonly signed_by: string | null
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'plugin_not_found' | 'plugin_state_conflict' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** Withdraws a plugin until it is loaded or the next start. Roles: admin. */
  'POST /v1/plugins/{name}/unload': {
    readonly request: {
      readonly path: {
        readonly name: string
      }
    }
    readonly answer: {
      readonly name: string
      readonly version: string
      /** core, hss, ran, collector or feature; null when the package is unusable. */
      readonly kind: string | null
      /** found, rejected, disabled, loading, running, needs_config, failed or unloaded. May grow. */
      readonly state: string
      /** inline: every plugin runs in the process of the service. */
      readonly isolation: string | null
      /** ok, degraded, down or unknown. May grow. */
      readonly health: string
      readonly loaded_at: string | null
      /** Why the running copy was loaded then: the start of the service, a request, another version, changed keys. */
      readonly loaded_because: string | null
      /** The last failure: step and reason; of needs_config the key that has no value, or a wrong one. */
      readonly error: string | null
      readonly essential: boolean
      readonly versions: readonly string[]
      /** Those of the versions that were installed, and can be uninstalled. */
      readonly installed: readonly string[]
      /** Who has signed this version, by name and key; null for one of the build and an unsigned one. */
      readonly signed_by: string | null
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'plugin_not_found' | 'plugin_state_conflict' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** The policy bundle in force. Roles: viewer, operator, sim:issuer, sim:admin, admin. */
  'GET /v1/policy': {
    readonly request: object
    readonly answer: {
      readonly retention_days: {
        /** Days that sessions are kept. */
        readonly sessions: number
        /** Days that audit entries are kept. */
        readonly audit: number
        /** Days that metrics are kept. */
        readonly metrics: number
      }
      readonly rate_limits: {
        /** SIMs issued per hour and principal. */
        readonly sim_issue_per_hour: number
        /** SIMs revoked per hour and principal. */
        readonly sim_revoke_per_hour: number
        /** Rows of SIM imports per hour and principal. */
        readonly sim_import_rows_per_hour: number
        /** Spectrum checks per hour and principal. */
        readonly spectrum_check_per_hour: number
        /** Requests to arm TX per hour and principal. */
        readonly tx_arm_per_hour: number
      }
      /** Hours between two SIM swaps of one subscriber. */
      readonly sim_swap_cooldown_hours: number
      readonly mesh: {
        readonly allow_route_advertise: boolean
      }
      /** APNs of the network. A core has room for 16; a SIM gets at most 4 of them. */
      readonly apns: readonly string[]
      readonly spectrum: {
        readonly allow_list: readonly {
          /** More values may be added within v1: treat an unknown one as something new, not as an error. */
          readonly technology: 'lte' | 'nr' | (string & {})
          /** b3, n78. */
          readonly band: string
          /** Low edge of the licensed downlink block, as the licence has it. */
          readonly low_mhz?: number
          /** High edge of the licensed downlink block. */
          readonly high_mhz?: number
          /** First downlink channel, instead of low_mhz; the low edge of the band when both are absent. */
          readonly earfcn_min?: number
          /** Last downlink channel, instead of high_mhz; the high edge of the band when both are absent. */
          readonly earfcn_max?: number
          readonly max_eirp_dbm?: number
          /** ISO 3166-1 alpha-2. */
          readonly country: string
        }[]
        readonly license: {
          readonly acknowledged: boolean
          readonly reference: string | null
          readonly holder: string | null
          readonly expires_at: string | null
          readonly acknowledged_by: string | null
          readonly acknowledged_at: string | null
        }
      }
      readonly revision: number
      readonly updated_at: string
    }
    readonly code: CommonCode | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'rate_limited' | 'token_expired' | 'unauthenticated'
  }
  /** Change the policy. Roles: operator, admin. */
  'PUT /v1/policy': {
    readonly request: {
      /** The `etag` of what was read before: the change is refused when somebody else was first. */
      readonly ifMatch?: string | undefined
      readonly body?: {
        readonly retention_days?: {
          /** Days that sessions are kept. */
          readonly sessions?: number | null
          /** Days that audit entries are kept. */
          readonly audit?: number | null
          /** Days that metrics are kept. */
          readonly metrics?: number | null
        } | null
        readonly rate_limits?: {
          /** SIMs issued per hour and principal. */
          readonly sim_issue_per_hour?: number | null
          /** SIMs revoked per hour and principal. */
          readonly sim_revoke_per_hour?: number | null
          /** Rows of SIM imports per hour and principal. */
          readonly sim_import_rows_per_hour?: number | null
          /** Spectrum checks per hour and principal. */
          readonly spectrum_check_per_hour?: number | null
          /** Requests to arm TX per hour and principal. */
          readonly tx_arm_per_hour?: number | null
        } | null
        /** Hours between two SIM swaps of one subscriber. */
        readonly sim_swap_cooldown_hours?: number | null
        readonly mesh?: {
          readonly allow_route_advertise?: boolean | null
        } | null
        /** APNs of the network. A core has room for 16; a SIM gets at most 4 of them. */
        readonly apns?: readonly string[] | null
        readonly spectrum?: {
          readonly allow_list?: readonly {
            readonly technology: 'lte' | 'nr'
            /** b3, n78. */
            readonly band: string
            /** Low edge of the licensed downlink block, as the licence has it. */
            readonly low_mhz?: number
            /** High edge of the licensed downlink block. */
            readonly high_mhz?: number
            /** First downlink channel, instead of low_mhz; the low edge of the band when both are absent. */
            readonly earfcn_min?: number
            /** Last downlink channel, instead of high_mhz; the high edge of the band when both are absent. */
            readonly earfcn_max?: number
            readonly max_eirp_dbm?: number
            /** ISO 3166-1 alpha-2. */
            readonly country: string
          }[] | null
          readonly license?: {
            readonly acknowledged?: boolean | null
            readonly reference?: string | null
            readonly holder?: string | null
            readonly expires_at?: string | null
            readonly acknowledged_by?: string | null
            readonly acknowledged_at?: string | null
          } | null
        } | null
        readonly revision?: number | null
        readonly updated_at?: string | null
      }
    }
    readonly answer: {
      readonly retention_days: {
        /** Days that sessions are kept. */
        readonly sessions: number
        /** Days that audit entries are kept. */
        readonly audit: number
        /** Days that metrics are kept. */
        readonly metrics: number
      }
      readonly rate_limits: {
        /** SIMs issued per hour and principal. */
        readonly sim_issue_per_hour: number
        /** SIMs revoked per hour and principal. */
        readonly sim_revoke_per_hour: number
        /** Rows of SIM imports per hour and principal. */
        readonly sim_import_rows_per_hour: number
        /** Spectrum checks per hour and principal. */
        readonly spectrum_check_per_hour: number
        /** Requests to arm TX per hour and principal. */
        readonly tx_arm_per_hour: number
      }
      /** Hours between two SIM swaps of one subscriber. */
      readonly sim_swap_cooldown_hours: number
      readonly mesh: {
        readonly allow_route_advertise: boolean
      }
      /** APNs of the network. A core has room for 16; a SIM gets at most 4 of them. */
      readonly apns: readonly string[]
      readonly spectrum: {
        readonly allow_list: readonly {
          /** More values may be added within v1: treat an unknown one as something new, not as an error. */
          readonly technology: 'lte' | 'nr' | (string & {})
          /** b3, n78. */
          readonly band: string
          /** Low edge of the licensed downlink block, as the licence has it. */
          readonly low_mhz?: number
          /** High edge of the licensed downlink block. */
          readonly high_mhz?: number
          /** First downlink channel, instead of low_mhz; the low edge of the band when both are absent. */
          readonly earfcn_min?: number
          /** Last downlink channel, instead of high_mhz; the high edge of the band when both are absent. */
          readonly earfcn_max?: number
          readonly max_eirp_dbm?: number
          /** ISO 3166-1 alpha-2. */
          readonly country: string
        }[]
        readonly license: {
          readonly acknowledged: boolean
          readonly reference: string | null
          readonly holder: string | null
          readonly expires_at: string | null
          readonly acknowledged_by: string | null
          readonly acknowledged_at: string | null
        }
      }
      readonly revision: number
      readonly updated_at: string
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'policy_conflict' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** Restore a backup of this node. Roles: admin. */
  'POST /v1/restore': {
    readonly request: {
      readonly query?: {
        /** Check everything and change nothing. */
        readonly dry_run?: boolean | undefined
        /** Take a backup of another node too: this node becomes that one. */
        readonly adopt?: boolean | undefined
      }
      readonly body: { readonly type: 'application/octet-stream' | 'application/gzip' | 'application/x-gzip'; readonly content: RawBody }
    }
    readonly answer: {
      /** Id of the node that the backup is of. */
      readonly restored_from: string
      readonly node_name: string
      readonly created_at: string
      /** Version of the service that took it. */
      readonly version: string
      /** The newest migration of each owner of tables in it. */
      readonly schema: Readonly<Record<string, string>>
      /** Rows of each table in it. */
      readonly counts: Readonly<Record<string, number>>
      /** Rows of each table of this node now. */
      readonly present: Readonly<Record<string, number>>
      /** What is good for one use and may have been used since the backup was taken, by kind: it opens nothing until it is reopened (POST /v1/restore/reopen). */
      readonly closed: Readonly<Record<string, number>>
      readonly with_keys: boolean
      readonly dry_run: boolean
      /** Where what was before is kept; null after a dry run. */
      readonly kept_in: string | null
    }
    readonly code: CommonCode | 'backup_decrypt_failed' | 'backup_invalid' | 'backup_version_unsupported' | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** List what restores have closed: good for one use, and perhaps used since the backup was taken. Roles: admin. */
  'GET /v1/restore/closed': {
    readonly request: {
      readonly query?: {
        /** esim_code, bootstrap_token, invitation, recovery_code; more may come. */
        readonly kind?: string | undefined
        /** Page size. */
        readonly limit?: number | undefined
        /** The next_cursor of the page before, with the same filters. Opaque. */
        readonly cursor?: string | undefined
      }
    }
    readonly answer: {
      readonly closed: readonly {
        /** esim_code, bootstrap_token, invitation, recovery_code; more may come. */
        readonly kind: string
        /** Its id among those of its kind; no secret. */
        readonly id: string
        /** When it is over anyway. */
        readonly expires_at: string | null
      }[]
      readonly next_cursor: string | null
    }
    readonly list: 'closed'
    readonly code: CommonCode | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'invalid_cursor' | 'invalid_limit' | 'rate_limited' | 'token_expired' | 'unauthenticated'
  }
  /** Let what a restore has closed be used again: of a kind, some or all of it. Roles: admin. */
  'POST /v1/restore/reopen': {
    readonly request: {
      readonly body: {
        /** esim_code, bootstrap_token, invitation, recovery_code; more may come. */
        readonly kind: string
        readonly ids?: readonly string[]
      }
    }
    readonly answer: {
      /** esim_code, bootstrap_token, invitation, recovery_code; more may come. */
      readonly kind: string
      readonly reopened: number
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** List the sessions of phones, newest first. Roles: viewer, operator, sim:issuer, sim:admin, admin. */
  'GET /v1/sessions': {
    readonly request: {
      readonly query?: {
        /** Those that go on when absent; ended: those that are over, as long as the policy keeps them. */
        readonly state?: 'active' | 'idle' | 'ended' | undefined
        readonly apn?: string | undefined
        /** The first 12 hexadecimal characters of the SHA-256 of the IMSI, never the IMSI itself. */
        readonly imsi?: string | undefined
        readonly technology?: 'lte' | 'nr' | undefined
        /** Page size. */
        readonly limit?: number | undefined
        /** The next_cursor of the page before, with the same filters. Opaque. */
        readonly cursor?: string | undefined
      }
    }
    readonly answer: {
      readonly sessions: readonly {
        readonly id: string
        readonly imsi_sha256_12: string
        readonly apn: string
        /** IPv4 address of the phone, or the beginning of its IPv6 prefix; null while it is not known. */
        readonly ue_ip: string | null
        readonly ue_ipv6_prefix: string | null
        /** active, idle or ended; more may come. */
        readonly state: string
        readonly started_at: string
        readonly ended_at: string | null
        /** Of the best source that counts it. */
        readonly up_bytes: number
        readonly down_bytes: number
        /** Some octets may be missing. */
        readonly incomplete: boolean
        /** lte or nr; more may come. */
        readonly technology: string
        readonly cell: string | null
        /** Who saw it first. */
        readonly source: string
        readonly plmn: string | null
      }[]
      readonly next_cursor: string | null
    }
    readonly list: 'sessions'
    readonly code: CommonCode | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'invalid_cursor' | 'invalid_limit' | 'rate_limited' | 'token_expired' | 'unauthenticated'
  }
  /** The configuration in force, key by key, and how each is set. Roles: admin. */
  'GET /v1/settings': {
    readonly request: object
    readonly answer: {
      readonly settings: readonly {
        /** Dotted, as docs/reference/configuration.md lists it. */
        readonly key: string
        readonly about: string
        /** What is allowed, in words. */
        readonly takes: string
        /** Any JSON. */
        readonly default: unknown
        /** What is in force, any JSON; *** where it is or may hold a secret, and in a URL behind its host. */
        readonly value: unknown
        /** default, file:line:column, a variable or a flag. */
        readonly from: string
        /** When a change counts: at a SIGHUP, with a reload of its plugin then, or at the next start. More values may be added within v1: treat an unknown one as something new, not as an error. */
        readonly apply: 'hot' | 'reload' | 'restart' | (string & {})
        /** `PUT /v1/settings` may change it. */
        readonly settable: boolean
        /** Another value counts from the next start on. */
        readonly awaits_start: boolean
        readonly variable: string | null
        readonly flag: string | null
        /** Whose key it is; null: the service's own. */
        readonly plugin: string | null
      }[]
    }
    readonly code: CommonCode | 'certificate_revoked' | 'forbidden' | 'rate_limited' | 'token_expired' | 'unauthenticated'
  }
  /** Writes keys into the configuration file and puts them in force. Roles: admin. */
  'PUT /v1/settings': {
    readonly request: {
      readonly query?: {
        readonly dry_run?: boolean | undefined
      }
      /** The `etag` of what was read before: the change is refused when somebody else was first. */
      readonly ifMatch?: string | undefined
      readonly body: {
        /** By key, dotted. */
        readonly settings: Readonly<Record<string, unknown>>
      }
    }
    readonly answer: {
      /** The file has it, and it is in force; false of a dry run. */
      readonly applied: boolean
      /** The file that the service reads. */
      readonly file: string
      /** The service may write the file. */
      readonly writable: boolean
      /** What the file needs, for somebody who writes it: YAML of these keys alone. */
      readonly lines: string
      /** Keys that something else decides, whatever the file says. */
      readonly fixed: readonly {
        readonly key: string
        /** A variable or a flag. */
        readonly by: string
      }[]
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'settings_fixed' | 'stale_change' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** List the SIMs, newest first, or search them. Roles: viewer, operator, sim:issuer, sim:admin, admin. */
  'GET /v1/sims': {
    readonly request: {
      readonly query?: {
        readonly state?: 'issued' | 'in-use' | 'suspended' | 'expired' | 'revoked' | undefined
        readonly profile?: string | undefined
        /** Exactly this label; q finds words of it. */
        readonly label?: string | undefined
        readonly batch_id?: string | undefined
        /** The last four digits of the ICCID. */
        readonly iccid_last4?: string | undefined
        /** Exactly this number, digits without a plus. */
        readonly msisdn?: string | undefined
        /** Whose phone is attached now, or is not. 503 while the core does not tell. */
        readonly attached?: boolean | undefined
        /** Words, each of which a SIM must match: its hash or a word of its label begins with it, or its ICCID or MSISDN ends with it. Whole IMSIs, ICCIDs and numbers go in the body of POST /v1/sims/find. */
        readonly q?: string | undefined
        /** Page size. */
        readonly limit?: number | undefined
        /** The next_cursor of the page before, with the same filters. Opaque. */
        readonly cursor?: string | undefined
      }
    }
    readonly answer: {
      readonly sims: readonly {
        readonly imsi_sha256_12: string
        readonly profile: string
        /** issued, in-use, suspended, expired or revoked; more may come. */
        readonly state: string
        readonly apns: readonly string[]
        readonly expires_at: string
        readonly iccid_last4: string | null
        readonly label: string | null
        readonly batch_id: string | null
        readonly issued_at: string
        readonly first_attach_at: string | null
        /** Whether its phone is attached; null: the core does not tell. */
        readonly attached: boolean | null
        /** When its phone was last seen attached. */
        readonly last_seen_at: string | null
        /** operator, quota or policy; more may come. */
        readonly suspend_reason: string | null
        readonly quota_bytes: number | null
        /** What counts against its quota in this period; 0 without a quota: GET …/usage has all. */
        readonly usage_bytes: number
        readonly ambr: {
          readonly downlink_bps: number
          readonly uplink_bps: number
        }
        readonly msisdn: string | null
        readonly replaces: string | null
        readonly provisioning: {
          /** pending, synced or failed; more may come. */
          readonly status: string
          readonly driver: string
          readonly last_error: string | null
          readonly synced_at: string | null
        }
      }[]
      readonly next_cursor: string | null
    }
    readonly list: 'sims'
    readonly code: CommonCode | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'invalid_cursor' | 'invalid_limit' | 'rate_limited' | 'southbound_unavailable' | 'token_expired' | 'unauthenticated'
  }
  /** Issue SIMs. Roles: sim:issuer, sim:admin, admin. */
  'POST /v1/sims': {
    readonly request: {
      readonly body?: {
        readonly count?: number
        /** default when absent. */
        readonly profile?: string
        /** Some of the policy's APNs; all of them when absent. */
        readonly apns?: readonly string[]
        /** Such as 30d; 1y when absent. */
        readonly expires_in?: string
        readonly expires_at?: string
        readonly ambr?: {
          readonly downlink_bps: number
          readonly uplink_bps: number
        }
        readonly quota_bytes?: number
        /** The first subscriber number; the others follow. Drawn at random when absent. */
        readonly msin_start?: string
        /** One SIM with this very IMSI. */
        readonly imsi?: string
        /** Digits without a plus; for one SIM. */
        readonly msisdn?: string
        readonly label?: string
        /** A SIM swap: this SIM is revoked in the same transaction, and what is not said here is taken from it. */
        readonly replaces?: string
      }
    }
    readonly answer: {
      readonly issued: number
      /** Directory of the batch on the node; svc sim export unseals it. */
      readonly output_dir: string
      readonly batch_id: string
      readonly first: {
        readonly imsi_sha256_12: string
        readonly expires_at: string
      }
      readonly sims: readonly {
        readonly imsi_sha256_12: string
        readonly profile: string
        /** issued, in-use, suspended, expired or revoked; more may come. */
        readonly state: string
        readonly apns: readonly string[]
        readonly expires_at: string
        readonly iccid_last4: string | null
        readonly label: string | null
        readonly batch_id: string | null
        readonly issued_at: string
        readonly first_attach_at: string | null
        /** Whether its phone is attached; null: the core does not tell. */
        readonly attached: boolean | null
        /** When its phone was last seen attached. */
        readonly last_seen_at: string | null
        /** operator, quota or policy; more may come. */
        readonly suspend_reason: string | null
        readonly quota_bytes: number | null
        /** What counts against its quota in this period; 0 without a quota: GET …/usage has all. */
        readonly usage_bytes: number
        readonly ambr: {
          readonly downlink_bps: number
          readonly uplink_bps: number
        }
        readonly msisdn: string | null
        readonly replaces: string | null
        readonly provisioning: {
          /** pending, synced or failed; more may come. */
          readonly status: string
          readonly driver: string
          readonly last_error: string | null
          readonly synced_at: string | null
        }
      }[]
    }
    readonly code: CommonCode | 'body_too_large' | 'capacity_exceeded' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'plmn_mismatch' | 'rate_limited' | 'request_timeout' | 'sim_exists' | 'sim_not_found' | 'sim_state_conflict' | 'sim_swap_cooldown' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** One SIM. Roles: viewer, operator, sim:issuer, sim:admin, admin. */
  'GET /v1/sims/{imsi}': {
    readonly request: {
      readonly path: {
        /** The first 12 hexadecimal characters of the SHA-256 of the IMSI, never the IMSI itself. */
        readonly imsi: string
      }
    }
    readonly answer: {
      readonly imsi_sha256_12: string
      readonly profile: string
      /** issued, in-use, suspended, expired or revoked; more may come. */
      readonly state: string
      readonly apns: readonly string[]
      readonly expires_at: string
      readonly iccid_last4: string | null
      readonly label: string | null
      readonly batch_id: string | null
      readonly issued_at: string
      readonly first_attach_at: string | null
      /** Whether its phone is attached; null: the core does not tell. */
      readonly attached: boolean | null
      /** When its phone was last seen attached. */
      readonly last_seen_at: string | null
      /** operator, quota or policy; more may come. */
      readonly suspend_reason: string | null
      readonly quota_bytes: number | null
      /** What counts against its quota in this period; 0 without a quota: GET …/usage has all. */
      readonly usage_bytes: number
      readonly ambr: {
        readonly downlink_bps: number
        readonly uplink_bps: number
      }
      readonly msisdn: string | null
      readonly replaces: string | null
      readonly provisioning: {
        /** pending, synced or failed; more may come. */
        readonly status: string
        readonly driver: string
        readonly last_error: string | null
        readonly synced_at: string | null
      }
    }
    readonly code: CommonCode | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'rate_limited' | 'sim_not_found' | 'token_expired' | 'unauthenticated'
  }
  /** Why the phone of a SIM is not on the network, and what to do. Roles: viewer, operator, sim:issuer, sim:admin, admin. */
  'GET /v1/sims/{imsi}/diagnosis': {
    readonly request: {
      readonly path: {
        /** The first 12 hexadecimal characters of the SHA-256 of the IMSI, never the IMSI itself. */
        readonly imsi: string
      }
    }
    readonly answer: {
      readonly imsi_sha256_12: string
      /** The first thing that keeps the phone off, in one sentence. */
      readonly verdict: string
      readonly checks: readonly {
        /** state, provisioning, subscriber, network, core, radio, attached, attempts or clock; more may come. */
        readonly name: string
        /** ok, warning, failed or unknown; more may come. */
        readonly status: string
        readonly detail: string
        /** What to do about it. */
        readonly advice: string | null
      }[]
    }
    readonly code: CommonCode | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'rate_limited' | 'sim_not_found' | 'token_expired' | 'unauthenticated'
  }
  /** Erase what is known of the holder of a SIM. Roles: admin. */
  'POST /v1/sims/{imsi}/forget': {
    readonly request: {
      readonly path: {
        /** The first 12 hexadecimal characters of the SHA-256 of the IMSI, never the IMSI itself. */
        readonly imsi: string
      }
      readonly body?: {
        /** Revoke the SIM first if it is in use. Without it a SIM that was ever attached has to be revoked already. */
        readonly revoke?: boolean
        /** Wait for HSS and core no more: erase the IMSI, too. For a core that is gone for good, and a SIM that is revoked already; what such a core still holds has to be removed there. */
        readonly without_core?: boolean
        /** For the audit trail: the number of the request, and nothing of the person. */
        readonly reason?: string
      }
    }
    readonly answer: {
      readonly imsi_sha256_12: string
      /** pending: all but the IMSI is erased, and that as soon as HSS and core have let the SIM go; it is not found from then on. erased: it is not found any more. */
      readonly status: string
      /** What its IMSI is still needed for; null when nothing. */
      readonly waits_for: string | null
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'sim_not_found' | 'sim_state_conflict' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** Give a SIM a label, to find it again. Roles: sim:issuer, sim:admin, admin. */
  'POST /v1/sims/{imsi}/label': {
    readonly request: {
      readonly path: {
        /** The first 12 hexadecimal characters of the SHA-256 of the IMSI, never the IMSI itself. */
        readonly imsi: string
      }
      /** The `etag` of what was read before: the change is refused when somebody else was first. */
      readonly ifMatch?: string | undefined
      readonly body: {
        /** null removes it. */
        readonly label: string | null
      }
    }
    readonly answer: {
      readonly imsi_sha256_12: string
      readonly profile: string
      /** issued, in-use, suspended, expired or revoked; more may come. */
      readonly state: string
      readonly apns: readonly string[]
      readonly expires_at: string
      readonly iccid_last4: string | null
      readonly label: string | null
      readonly batch_id: string | null
      readonly issued_at: string
      readonly first_attach_at: string | null
      /** Whether its phone is attached; null: the core does not tell. */
      readonly attached: boolean | null
      /** When its phone was last seen attached. */
      readonly last_seen_at: string | null
      /** operator, quota or policy; more may come. */
      readonly suspend_reason: string | null
      readonly quota_bytes: number | null
      /** What counts against its quota in this period; 0 without a quota: GET …/usage has all. */
      readonly usage_bytes: number
      readonly ambr: {
        readonly downlink_bps: number
        readonly uplink_bps: number
      }
      readonly msisdn: string | null
      readonly replaces: string | null
      readonly provisioning: {
        /** pending, synced or failed; more may come. */
        readonly status: string
        readonly driver: string
        readonly last_error: string | null
        readonly synced_at: string | null
      }
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'sim_not_found' | 'stale_change' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** Set, top up or take away the data quota of a SIM. Roles: operator, admin. */
  'POST /v1/sims/{imsi}/quota': {
    readonly request: {
      readonly path: {
        /** The first 12 hexadecimal characters of the SHA-256 of the IMSI, never the IMSI itself. */
        readonly imsi: string
      }
      /** The `etag` of what was read before: the change is refused when somebody else was first. */
      readonly ifMatch?: string | undefined
      readonly body?: {
        /** Octets of both directions together; null takes the quota away. */
        readonly quota_bytes?: number | null
        /** When it begins anew, by fairuse.time_zone; none: never. month when absent. */
        readonly period?: 'day' | 'week' | 'month' | 'none'
        /** What happens when it is used up. suspend when absent. */
        readonly action?: 'suspend' | 'throttle' | 'alert'
        /** For action throttle: the rate that is left, in both directions. fairuse.throttle_bps when absent. */
        readonly throttle_bps?: number
        /** Alone: granted once more for this period. */
        readonly add_bytes?: number
      }
    }
    readonly answer: {
      readonly imsi_sha256_12: string
      readonly up_bytes: number
      readonly down_bytes: number
      readonly total_bytes: number
      /** The allowance of a period. */
      readonly quota_bytes: number | null
      /** Granted once more for this period. */
      readonly added_bytes: number
      /** Of the quota and what was added; null without a quota. */
      readonly remaining_bytes: number | null
      readonly over_quota: boolean
      /** An operator lets the SIM go on for this period although its quota is used up. */
      readonly overridden: boolean
      /** day, week, month or none; more may come. */
      readonly period: string
      readonly period_start: string
      readonly period_end: string | null
      /** By which the periods begin. */
      readonly time_zone: string
      /** suspend, throttle or alert when it is used up; null without a quota. */
      readonly action: string | null
      /** none; pending; suspended; throttled; alert_only: nobody suspends it when its quota is used up, since fairuse.enabled is false; more may come. */
      readonly enforcement: string
      /** The rate that the SIM is held to in both directions; null while its AMBR holds. */
      readonly throttle: {
        readonly bps: number
        /** Whether the phone has that rate: pending (the HSS is to be told), next_session (a session that runs keeps the old rate), in_force; more may come. */
        readonly state: string
      } | null
      /** Some octets of this period may be missing. */
      readonly is_incomplete: boolean
      /** Up to when all usage is known; null while no collector has worked. */
      readonly known_until: string | null
      /** Why later usage is not known; null while it is. */
      readonly unknown_reason: string | null
      /** When usage was last counted against the quota. */
      readonly updated_at: string | null
      /** What each source saw. */
      readonly by_source: Readonly<Record<string, {
        readonly up_bytes: number
        readonly down_bytes: number
        readonly is_incomplete: boolean
      }>>
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'quota_not_set' | 'rate_limited' | 'request_timeout' | 'sim_not_found' | 'sim_state_conflict' | 'stale_change' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** Lift a suspension. Roles: operator, admin. */
  'POST /v1/sims/{imsi}/resume': {
    readonly request: {
      readonly path: {
        /** The first 12 hexadecimal characters of the SHA-256 of the IMSI, never the IMSI itself. */
        readonly imsi: string
      }
      readonly query?: {
        /** How long to wait, at most 30s, until the phone is really off; after a resume, until the HSS lets it on again. Not at all when absent. */
        readonly wait?: string | undefined
      }
      readonly body?: {
        readonly reason?: string
        /** Resume although the quota is used up. */
        readonly override?: boolean
      }
    }
    readonly answer: {
      readonly imsi_sha256_12: string
      readonly profile: string
      /** issued, in-use, suspended, expired or revoked; more may come. */
      readonly state: string
      readonly apns: readonly string[]
      readonly expires_at: string
      readonly iccid_last4: string | null
      readonly label: string | null
      readonly batch_id: string | null
      readonly issued_at: string
      readonly first_attach_at: string | null
      /** Whether its phone is attached; null: the core does not tell. */
      readonly attached: boolean | null
      /** When its phone was last seen attached. */
      readonly last_seen_at: string | null
      /** operator, quota or policy; more may come. */
      readonly suspend_reason: string | null
      readonly quota_bytes: number | null
      /** What counts against its quota in this period; 0 without a quota: GET …/usage has all. */
      readonly usage_bytes: number
      readonly ambr: {
        readonly downlink_bps: number
        readonly uplink_bps: number
      }
      readonly msisdn: string | null
      readonly replaces: string | null
      readonly provisioning: {
        /** pending, synced or failed; more may come. */
        readonly status: string
        readonly driver: string
        readonly last_error: string | null
        readonly synced_at: string | null
      }
      /** yes, pending or not_attached; more may come. */
      readonly detached: string
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'sim_not_found' | 'sim_state_conflict' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** End a SIM for good and disconnect its phone. Roles: sim:admin, admin. */
  'POST /v1/sims/{imsi}/revoke': {
    readonly request: {
      readonly path: {
        /** The first 12 hexadecimal characters of the SHA-256 of the IMSI, never the IMSI itself. */
        readonly imsi: string
      }
      readonly query?: {
        /** How long to wait, at most 30s, until the phone is really off; after a resume, until the HSS lets it on again. Not at all when absent. */
        readonly wait?: string | undefined
      }
      readonly body?: {
        readonly reason?: string
      }
    }
    readonly answer: {
      readonly imsi_sha256_12: string
      readonly profile: string
      /** issued, in-use, suspended, expired or revoked; more may come. */
      readonly state: string
      readonly apns: readonly string[]
      readonly expires_at: string
      readonly iccid_last4: string | null
      readonly label: string | null
      readonly batch_id: string | null
      readonly issued_at: string
      readonly first_attach_at: string | null
      /** Whether its phone is attached; null: the core does not tell. */
      readonly attached: boolean | null
      /** When its phone was last seen attached. */
      readonly last_seen_at: string | null
      /** operator, quota or policy; more may come. */
      readonly suspend_reason: string | null
      readonly quota_bytes: number | null
      /** What counts against its quota in this period; 0 without a quota: GET …/usage has all. */
      readonly usage_bytes: number
      readonly ambr: {
        readonly downlink_bps: number
        readonly uplink_bps: number
      }
      readonly msisdn: string | null
      readonly replaces: string | null
      readonly provisioning: {
        /** pending, synced or failed; more may come. */
        readonly status: string
        readonly driver: string
        readonly last_error: string | null
        readonly synced_at: string | null
      }
      /** yes, pending or not_attached; more may come. */
      readonly detached: string
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'sim_not_found' | 'sim_state_conflict' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** Block a SIM and disconnect its phone. Roles: operator, admin. */
  'POST /v1/sims/{imsi}/suspend': {
    readonly request: {
      readonly path: {
        /** The first 12 hexadecimal characters of the SHA-256 of the IMSI, never the IMSI itself. */
        readonly imsi: string
      }
      readonly query?: {
        /** How long to wait, at most 30s, until the phone is really off; after a resume, until the HSS lets it on again. Not at all when absent. */
        readonly wait?: string | undefined
      }
      readonly body?: {
        readonly reason?: string
      }
    }
    readonly answer: {
      readonly imsi_sha256_12: string
      readonly profile: string
      /** issued, in-use, suspended, expired or revoked; more may come. */
      readonly state: string
      readonly apns: readonly string[]
      readonly expires_at: string
      readonly iccid_last4: string | null
      readonly label: string | null
      readonly batch_id: string | null
      readonly issued_at: string
      readonly first_attach_at: string | null
      /** Whether its phone is attached; null: the core does not tell. */
      readonly attached: boolean | null
      /** When its phone was last seen attached. */
      readonly last_seen_at: string | null
      /** operator, quota or policy; more may come. */
      readonly suspend_reason: string | null
      readonly quota_bytes: number | null
      /** What counts against its quota in this period; 0 without a quota: GET …/usage has all. */
      readonly usage_bytes: number
      readonly ambr: {
        readonly downlink_bps: number
        readonly uplink_bps: number
      }
      readonly msisdn: string | null
      readonly replaces: string | null
      readonly provisioning: {
        /** pending, synced or failed; more may come. */
        readonly status: string
        readonly driver: string
        readonly last_error: string | null
        readonly synced_at: string | null
      }
      /** yes, pending or not_attached; more may come. */
      readonly detached: string
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'sim_not_found' | 'sim_state_conflict' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** What a SIM has used of its quota in this period. Roles: viewer, operator, sim:issuer, sim:admin, admin. */
  'GET /v1/sims/{imsi}/usage': {
    readonly request: {
      readonly path: {
        /** The first 12 hexadecimal characters of the SHA-256 of the IMSI, never the IMSI itself. */
        readonly imsi: string
      }
      readonly query?: {
        readonly from?: string | undefined
        readonly to?: string | undefined
        /** day when absent. */
        readonly step?: 'hour' | 'day' | undefined
      }
    }
    readonly answer: {
      readonly imsi_sha256_12: string
      readonly up_bytes: number
      readonly down_bytes: number
      readonly total_bytes: number
      /** The allowance of a period. */
      readonly quota_bytes: number | null
      /** Granted once more for this period. */
      readonly added_bytes: number
      /** Of the quota and what was added; null without a quota. */
      readonly remaining_bytes: number | null
      readonly over_quota: boolean
      /** An operator lets the SIM go on for this period although its quota is used up. */
      readonly overridden: boolean
      /** day, week, month or none; more may come. */
      readonly period: string
      readonly period_start: string
      readonly period_end: string | null
      /** By which the periods begin. */
      readonly time_zone: string
      /** suspend, throttle or alert when it is used up; null without a quota. */
      readonly action: string | null
      /** none; pending; suspended; throttled; alert_only: nobody suspends it when its quota is used up, since fairuse.enabled is false; more may come. */
      readonly enforcement: string
      /** The rate that the SIM is held to in both directions; null while its AMBR holds. */
      readonly throttle: {
        readonly bps: number
        /** Whether the phone has that rate: pending (the HSS is to be told), next_session (a session that runs keeps the old rate), in_force; more may come. */
        readonly state: string
      } | null
      /** Some octets of this period may be missing. */
      readonly is_incomplete: boolean
      /** Up to when all usage is known; null while no collector has worked. */
      readonly known_until: string | null
      /** Why later usage is not known; null while it is. */
      readonly unknown_reason: string | null
      /** When usage was last counted against the quota. */
      readonly updated_at: string | null
      /** What each source saw. */
      readonly by_source: Readonly<Record<string, {
        readonly up_bytes: number
        readonly down_bytes: number
        readonly is_incomplete: boolean
      }>>
      readonly series?: readonly {
        readonly at: string
        readonly up_bytes: number
        readonly down_bytes: number
        readonly is_incomplete: boolean
      }[]
    }
    readonly code: CommonCode | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'rate_limited' | 'sim_not_found' | 'token_expired' | 'unauthenticated'
  }
  /** Report what a SIM has used. Roles: operator, admin, node. */
  'POST /v1/sims/{imsi}/usage': {
    readonly request: {
      readonly path: {
        /** The first 12 hexadecimal characters of the SHA-256 of the IMSI, never the IMSI itself. */
        readonly imsi: string
      }
      readonly body: {
        readonly up_bytes: number
        readonly down_bytes: number
        /** When they were used; now when absent. At most 35 days ago. */
        readonly at?: string
        /** Who counted: fewer than 14 digits in a row. A node reports under its own id, and may leave this out. Sixteen of a SIM are told apart within an hour; the others count together as `other`. */
        readonly source?: string
        /** The name of this report among those of the SIM: it counts once, however often it is sent within 35 days. */
        readonly report_id: string
      }
    }
    readonly answer: {
      readonly imsi_sha256_12: string
      readonly up_bytes: number
      readonly down_bytes: number
      readonly total_bytes: number
      /** The allowance of a period. */
      readonly quota_bytes: number | null
      /** Granted once more for this period. */
      readonly added_bytes: number
      /** Of the quota and what was added; null without a quota. */
      readonly remaining_bytes: number | null
      readonly over_quota: boolean
      /** An operator lets the SIM go on for this period although its quota is used up. */
      readonly overridden: boolean
      /** day, week, month or none; more may come. */
      readonly period: string
      readonly period_start: string
      readonly period_end: string | null
      /** By which the periods begin. */
      readonly time_zone: string
      /** suspend, throttle or alert when it is used up; null without a quota. */
      readonly action: string | null
      /** none; pending; suspended; throttled; alert_only: nobody suspends it when its quota is used up, since fairuse.enabled is false; more may come. */
      readonly enforcement: string
      /** The rate that the SIM is held to in both directions; null while its AMBR holds. */
      readonly throttle: {
        readonly bps: number
        /** Whether the phone has that rate: pending (the HSS is to be told), next_session (a session that runs keeps the old rate), in_force; more may come. */
        readonly state: string
      } | null
      /** Some octets of this period may be missing. */
      readonly is_incomplete: boolean
      /** Up to when all usage is known; null while no collector has worked. */
      readonly known_until: string | null
      /** Why later usage is not known; null while it is. */
      readonly unknown_reason: string | null
      /** When usage was last counted against the quota. */
      readonly updated_at: string | null
      /** What each source saw. */
      readonly by_source: Readonly<Record<string, {
        readonly up_bytes: number
        readonly down_bytes: number
        readonly is_incomplete: boolean
      }>>
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'rate_limited' | 'report_id_reused' | 'request_timeout' | 'sim_not_found' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type' | 'usage_implausible'
  }
  /** Change many SIMs at once. Roles: viewer, operator, sim:issuer, sim:admin, admin. */
  'POST /v1/sims/bulk': {
    readonly request: {
      readonly query?: {
        /** How long to wait, at most 30s, until the phone is really off; after a resume, until the HSS lets it on again. Not at all when absent. */
        readonly wait?: string | undefined
      }
      readonly body: {
        readonly action: 'suspend' | 'resume' | 'revoke' | 'label'
        readonly ids?: readonly string[]
        readonly filter?: {
          readonly state?: 'issued' | 'in-use' | 'suspended' | 'expired' | 'revoked'
          readonly profile?: string
          /** Exactly this label; q finds words of it. */
          readonly label?: string
          readonly batch_id?: string
          /** The last four digits of the ICCID. */
          readonly iccid_last4?: string
          /** Exactly this number, digits without a plus. */
          readonly msisdn?: string
          /** Whose phone is attached now, or is not. 503 while the core does not tell. */
          readonly attached?: boolean
          /** Words, each of which a SIM must match: its hash or a word of its label begins with it, or its ICCID or MSISDN ends with it. Whole IMSIs, ICCIDs and numbers go in the body of POST /v1/sims/find. */
          readonly q?: string
        }
        /** For action label; null removes it. */
        readonly label?: string | null
        readonly reason?: string
        /** For action resume: also when the quota is used up. */
        readonly override?: boolean
      }
    }
    readonly answer: {
      readonly changed: number
      readonly unchanged: number
      readonly failed: number
      /** Phones of changed SIMs that were on when they were suspended or revoked. */
      readonly attached: number
      /** How many of these are off by now; null when the answer has not waited for them. */
      readonly detached: number | null
      readonly results: readonly {
        readonly imsi_sha256_12: string
        /** changed, unchanged or error; more may come. */
        readonly status: string
        readonly state: string | null
        readonly error: {
          readonly code: string
          readonly message: string
        } | null
      }[]
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'southbound_unavailable' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** All SIMs as CSV, without secrets. Roles: sim:issuer, sim:admin, admin. */
  'GET /v1/sims/export': {
    readonly request: {
      readonly query?: {
        readonly state?: 'issued' | 'in-use' | 'suspended' | 'expired' | 'revoked' | undefined
        readonly profile?: string | undefined
        /** Exactly this label; q finds words of it. */
        readonly label?: string | undefined
        readonly batch_id?: string | undefined
        /** The last four digits of the ICCID. */
        readonly iccid_last4?: string | undefined
        /** Exactly this number, digits without a plus. */
        readonly msisdn?: string | undefined
        /** Whose phone is attached now, or is not. 503 while the core does not tell. */
        readonly attached?: boolean | undefined
        /** Words, each of which a SIM must match: its hash or a word of its label begins with it, or its ICCID or MSISDN ends with it. Whole IMSIs, ICCIDs and numbers go in the body of POST /v1/sims/find. */
        readonly q?: string | undefined
      }
    }
    readonly answer: string
    readonly code: CommonCode | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'rate_limited' | 'southbound_unavailable' | 'token_expired' | 'unauthenticated'
  }
  /** Find a SIM by its IMSI, ICCID or number. Roles: viewer, operator, sim:issuer, sim:admin, admin. */
  'POST /v1/sims/find': {
    readonly request: {
      readonly body?: {
        readonly imsi?: string
        readonly iccid?: string
        /** Digits without a plus. */
        readonly msisdn?: string
      }
    }
    readonly answer: {
      readonly sims: readonly {
        readonly imsi_sha256_12: string
        readonly profile: string
        /** issued, in-use, suspended, expired or revoked; more may come. */
        readonly state: string
        readonly apns: readonly string[]
        readonly expires_at: string
        readonly iccid_last4: string | null
        readonly label: string | null
        readonly batch_id: string | null
        readonly issued_at: string
        readonly first_attach_at: string | null
        /** Whether its phone is attached; null: the core does not tell. */
        readonly attached: boolean | null
        /** When its phone was last seen attached. */
        readonly last_seen_at: string | null
        /** operator, quota or policy; more may come. */
        readonly suspend_reason: string | null
        readonly quota_bytes: number | null
        /** What counts against its quota in this period; 0 without a quota: GET …/usage has all. */
        readonly usage_bytes: number
        readonly ambr: {
          readonly downlink_bps: number
          readonly uplink_bps: number
        }
        readonly msisdn: string | null
        readonly replaces: string | null
        readonly provisioning: {
          /** pending, synced or failed; more may come. */
          readonly status: string
          readonly driver: string
          readonly last_error: string | null
          readonly synced_at: string | null
        }
      }[]
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** Import SIMs whose cards exist already. Roles: sim:issuer, sim:admin, admin. */
  'POST /v1/sims/import': {
    readonly request: {
      readonly query?: {
        /** Report what would be done and change nothing. */
        readonly dry_run?: boolean | undefined
        /** All rows or, when one has an error, none. */
        readonly atomic?: boolean | undefined
        /** For every row that has none. */
        readonly label?: string | undefined
      }
      readonly body: {
        /** At most 50000 rows with imsi, ki, opc or op, and optionally iccid, msisdn, profile, apns, downlink_bps and uplink_bps, expires_at, label, adm1, pin1, puk1, pin2, puk2. */
        readonly sims: readonly unknown[]
      } | { readonly type: 'text/csv'; readonly content: RawBody }
    }
    readonly answer: {
      readonly imported: number
      /** SIMs that were there and have another label now. */
      readonly updated: number
      readonly skipped: number
      readonly failed: number
      /** In a dry run: whether the HSS said what would be overwritten in it. More values may be added within v1: treat an unknown one as something new, not as an error. */
      readonly hss?: 'asked' | 'silent' | (string & {})
      /** Filter of the list of SIMs; null when nothing was imported. */
      readonly batch_id: string | null
      /** Columns of a CSV, and what each is read as; null: it is not read. Empty for JSON. */
      readonly columns: readonly {
        readonly name: string
        readonly read_as: string | null
      }[]
      /** Of a dry run: the first rows as they are understood, without their keys. */
      readonly first_rows?: readonly {
        readonly row: number
        readonly line: number | null
        readonly imsi_sha256_12: string
        readonly iccid_last4: string | null
        readonly msisdn: string | null
        readonly profile: string
        readonly apns: readonly string[]
        readonly label: string | null
        readonly expires_at: string
      }[]
      readonly results: readonly {
        /** Data row, from 1; the header is not counted. */
        readonly row: number
        /** Line of the CSV, from 1; null for JSON. */
        readonly line: number | null
        readonly imsi_sha256_12: string | null
        /** imported, updated (it was there, with another label), exists, error, or not_imported when another row stopped an atomic import. */
        readonly status: string
        readonly error: string | null
        /** In a dry run, where the HSS has the subscriber already: what importing it would change there. Absent where it has none. */
        readonly overwrites?: readonly {
          readonly field: string
          /** null where it is a secret, or no one value. */
          readonly before: string | null
          readonly after: string | null
        }[]
      }[]
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** Whether channels may be used here. Roles: operator, admin. */
  'POST /v1/spectrum/check': {
    readonly request: {
      readonly body?: {
        /** Taken from the band or the channel numbers when absent. */
        readonly technology?: 'lte' | 'nr'
        /** EARFCNs (lte) or NR-ARFCNs (nr), downlink numbers. */
        readonly channels?: readonly number[]
        /** One channel. */
        readonly channel?: number
        /** Downlink EARFCNs; the technology is LTE. */
        readonly earfcn?: number | readonly number[]
        /** NR-ARFCNs; the technology is NR. */
        readonly nr_arfcn?: number | readonly number[]
        /** Centre frequencies of the downlink; the nearest channels are checked. */
        readonly frequency_mhz?: number | readonly number[]
        /** b3, n78; as a number, the band of the technology. */
        readonly band?: string | number
        readonly bandwidth_mhz?: number
        /** ISO 3166-1 alpha-2; the node's own when absent. Says which entries of the allow-list count. */
        readonly country?: string
      }
    }
    readonly answer: {
      readonly allowed: boolean
      /** The blocking gate; empty when allowed. More values may be added within v1: treat an unknown one as something new, not as an error. */
      readonly gate: 'country-code' | 'license' | 'allow-list' | '' | (string & {})
      readonly reason: string
      /** The one that was checked. More values may be added within v1: treat an unknown one as something new, not as an error. */
      readonly technology: 'lte' | 'nr' | (string & {})
      readonly channels_checked: number
      readonly results: readonly {
        readonly channel: number
        readonly bands: readonly string[]
        /** The band whose entry in the allow-list covers the carrier. */
        readonly band: string | null
        readonly downlink_mhz: number | null
        readonly uplink_mhz: number | null
        readonly allowed: boolean
        /** More values may be added within v1: treat an unknown one as something new, not as an error. */
        readonly gate: 'country-code' | 'license' | 'allow-list' | null | (string & {})
        readonly reason: string | null
        /** Channels of this width next to it that the allow-list covers; empty when it is covered. */
        readonly nearest_channels: readonly number[]
      }[]
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** The allow-list as frequencies. Roles: viewer, operator, sim:issuer, sim:admin, admin. */
  'GET /v1/spectrum/ranges': {
    readonly request: object
    readonly answer: {
      /** The node's own: entries of others do not count here. */
      readonly country: string
      readonly ranges: readonly {
        /** More values may be added within v1: treat an unknown one as something new, not as an error. */
        readonly technology: 'lte' | 'nr' | (string & {})
        readonly band: string
        readonly country: string
        /** Null: from low_mhz, or the low edge of the band. */
        readonly first_channel: number | null
        /** Null: to high_mhz, or the high edge of the band. */
        readonly last_channel: number | null
        /** Of the downlink; null where the band has none. */
        readonly low_mhz: number | null
        readonly high_mhz: number | null
        readonly band_low_mhz: number | null
        readonly band_high_mhz: number | null
        readonly max_eirp_dbm: number | null
      }[]
    }
    readonly code: CommonCode | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'rate_limited' | 'token_expired' | 'unauthenticated'
  }
  /** State of the node and its core; answers once the node is ready. Roles: viewer, operator, sim:issuer, sim:admin, admin. */
  'GET /v1/status': {
    readonly request: object
    readonly answer: {
      /** bootstrap, registered, on-air, peered or degraded; more may come. */
      readonly state: string
      /** MCC-MNC. */
      readonly plmn: string
      readonly tac: number
      readonly apns: readonly string[]
      readonly enb: {
        readonly connected: boolean
        /** lte, nr, none, or unknown; more may come. */
        readonly mode: string
        readonly s1_setup: boolean
        /** False while neither the core nor an own radio tells; connected and s1_setup are false then. */
        readonly known: boolean
      }
      readonly ue: {
        /** Whether at least one phone is seen to be. */
        readonly registered: boolean
        /** activated, suspended or none: the most recent phone. */
        readonly sim_state: string
        /** Null while the core does not tell. */
        readonly attached: number | null
        /** False while the core does not tell; registered is false then. */
        readonly known: boolean
      }
      readonly breakout: {
        /** local, peer or off, as observed. */
        readonly mode: string
        readonly peer_count: number
      }
      /** lab or rf. */
      readonly mode: string
      readonly core: string
      readonly country: string
      readonly node_id: string
      readonly version: string
      readonly uptime_s: number
      readonly tx: {
        readonly armed: boolean
      }
      readonly instance: {
        /** As cluster.instance names it; empty where there is one. */
        readonly name: string
        /** alone, leader or follower. */
        readonly role: string
        /** Null while nobody leads. */
        readonly leader: string | null
        /** Grows with each leader. */
        readonly epoch: number
      }
      readonly components: readonly {
        readonly name: string
        /** core, hss, ran, collector, store, feature or peer; more may come. */
        readonly kind: string
        /** ok, degraded or down; more may come. */
        readonly status: string
        readonly detail: string
        /** Since when the status is what it is. */
        readonly since: string
        readonly last_ok_at: string | null
      }[]
    }
    readonly code: CommonCode | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'rate_limited' | 'token_expired' | 'unauthenticated'
  }
  /** What those who help need to know of this node, without its secrets. Roles: admin. */
  'GET /v1/support/bundle': {
    readonly request: object
    readonly answer: Blob
    readonly code: CommonCode | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'rate_limited' | 'token_expired' | 'unauthenticated'
  }
  /** Take the heartbeat of an agent. Roles: operator, admin, node. */
  'POST /v1/telemetry': {
    readonly request: {
      readonly body: {
        readonly node_id: string
        /** When the agent sent it, by its own clock. */
        readonly at: string
        /** Grows with every heartbeat, over restarts of the agent too (ms since the epoch does). An older or equal one is accepted and ignored. */
        readonly seq: number
        readonly components: readonly {
          readonly name: string
          readonly status: 'ok' | 'degraded' | 'down'
          readonly detail?: string
        }[]
        readonly counters?: Readonly<Record<string, number>>
        readonly versions?: Readonly<Record<string, string>>
        /** How the node itself is: what the list of nodes shows of it. */
        readonly node?: {
          readonly lifecycle: 'provision' | 'register' | 'on_air' | 'peer' | 'breakout'
          /** MCC-MNC. */
          readonly plmn: string
          /** Whether TX is armed there. */
          readonly on_air: boolean
        }
      }
    }
    readonly answer: {
      readonly accepted: boolean
      /** Send the next heartbeat after so many seconds. */
      readonly next_in_s: number
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'node_not_found' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** What plugins say in the console, by language. Public. */
  'GET /v1/texts/{language}': {
    readonly request: {
      readonly path: {
        readonly language: 'de' | 'en'
      }
    }
    readonly answer: Readonly<Record<string, string>>
    readonly code: CommonCode | 'rate_limited'
  }
  /** List the scoped tokens, newest first. Roles: admin. */
  'GET /v1/tokens': {
    readonly request: {
      readonly query?: {
        /** Page size. */
        readonly limit?: number | undefined
        /** The next_cursor of the page before, with the same filters. Opaque. */
        readonly cursor?: string | undefined
      }
    }
    readonly answer: {
      readonly tokens: readonly {
        readonly id: string
        readonly name: string
        /** api or bootstrap; more kinds may come. */
        readonly kind: string
        readonly roles: readonly string[]
        /** Null: the token lives until it is deleted. */
        readonly expires_at: string | null
        readonly created_at: string
        /** Exact to a minute. */
        readonly last_used_at: string | null
        readonly created_by: {
          readonly kind: string
          readonly id: string
          readonly name: string
        }
        /** The credential that it ends with: token, session or certificate with its id, environment, system; more may come. Null: none. */
        readonly parent: {
          readonly kind: string
          readonly id: string
        } | null
        /** The person who made it, also by way of another token: it may do no more, and goes with the person. */
        readonly user_id: string | null
        /** The node that a bootstrap token is bound to. */
        readonly node_id: string | null
        readonly node_name: string | null
      }[]
      readonly next_cursor: string | null
    }
    readonly list: 'tokens'
    readonly code: CommonCode | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'invalid_cursor' | 'invalid_limit' | 'rate_limited' | 'token_expired' | 'unauthenticated'
  }
  /** Create a scoped token or a bootstrap token. Roles: admin. */
  'POST /v1/tokens': {
    readonly request: {
      readonly body: {
        readonly name: string
        readonly kind?: 'api' | 'bootstrap'
        /** At least one for kind api; none for kind bootstrap. */
        readonly roles?: readonly ('viewer' | 'operator' | 'sim:issuer' | 'sim:admin' | 'admin')[]
        /** One role, instead of roles. */
        readonly role?: 'viewer' | 'operator' | 'sim:issuer' | 'sim:admin' | 'admin'
        /** A duration such as 90d or 1h30m. Without it an api token never expires and a bootstrap token lives as long as auth.bootstrap_token_ttl, which is also its maximum. */
        readonly expires_in?: string
        /** Kind bootstrap only: the name of the node that is to join. */
        readonly node_name?: string
        /** Kind bootstrap only: no other node can use the token. */
        readonly node_id?: string
      }
    }
    readonly answer: {
      readonly id: string
      readonly name: string
      /** api or bootstrap; more kinds may come. */
      readonly kind: string
      readonly roles: readonly string[]
      /** Null: the token lives until it is deleted. */
      readonly expires_at: string | null
      /** The credential. Shown here and never again. */
      readonly token: string
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** Delete a token; it opens nothing from the next request on, and neither does what it has made. Roles: admin. */
  'DELETE /v1/tokens/{id}': {
    readonly request: {
      readonly path: {
        readonly id: string
      }
    }
    readonly answer: undefined
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'token_not_found' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** State of the TX gate. Roles: viewer, operator, sim:issuer, sim:admin, admin. */
  'GET /v1/tx/arm': {
    readonly request: object
    readonly answer: {
      readonly armed: boolean
      readonly gates: {
        /** More values may be added within v1: treat an unknown one as something new, not as an error. */
        readonly country_code: 'set' | 'missing' | (string & {})
        /** More values may be added within v1: treat an unknown one as something new, not as an error. */
        readonly license_ack: 'set' | 'missing' | (string & {})
        /** More values may be added within v1: treat an unknown one as something new, not as an error. */
        readonly allow_list: 'set' | 'missing' | (string & {})
      }
      readonly profile: string | null
      /** off: whatever was permitted to send has itself reported that it is off. on: something is permitted to send. unconfirmed: it was told to stop and has not reported that it did; it may be on air. More may come. */
      readonly transmitter: string
    }
    readonly code: CommonCode | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'rate_limited' | 'token_expired' | 'unauthenticated'
  }
  /** Arm or disarm TX. Roles: sim:admin, admin. */
  'POST /v1/tx/arm': {
    readonly request: {
      readonly body: {
        readonly arm: boolean
        /** A radio profile of ran.profiles. Required to arm. */
        readonly profile_id?: string
      }
    }
    readonly answer: {
      readonly armed: boolean
      readonly gates: {
        /** More values may be added within v1: treat an unknown one as something new, not as an error. */
        readonly country_code: 'set' | 'missing' | (string & {})
        /** More values may be added within v1: treat an unknown one as something new, not as an error. */
        readonly license_ack: 'set' | 'missing' | (string & {})
        /** More values may be added within v1: treat an unknown one as something new, not as an error. */
        readonly allow_list: 'set' | 'missing' | (string & {})
      }
      readonly profile: string | null
      /** off: whatever was permitted to send has itself reported that it is off. on: something is permitted to send. unconfirmed: it was told to stop and has not reported that it did; it may be on air. More may come. */
      readonly transmitter: string
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'invalid_transition' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'southbound_unavailable' | 'token_expired' | 'tx_gate_closed' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** Disarm TX and stop the transmitter. Roles: operator, admin. */
  'POST /v1/tx/disarm': {
    readonly request: object
    readonly answer: {
      readonly armed: boolean
      readonly gates: {
        /** More values may be added within v1: treat an unknown one as something new, not as an error. */
        readonly country_code: 'set' | 'missing' | (string & {})
        /** More values may be added within v1: treat an unknown one as something new, not as an error. */
        readonly license_ack: 'set' | 'missing' | (string & {})
        /** More values may be added within v1: treat an unknown one as something new, not as an error. */
        readonly allow_list: 'set' | 'missing' | (string & {})
      }
      readonly profile: string | null
      /** off: whatever was permitted to send has itself reported that it is off. on: something is permitted to send. unconfirmed: it was told to stop and has not reported that it did; it may be on air. More may come. */
      readonly transmitter: string
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'southbound_unavailable' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** The radio profiles that are configured, and whether each may be armed. Roles: viewer, operator, sim:issuer, sim:admin, admin. */
  'GET /v1/tx/profiles': {
    readonly request: object
    readonly answer: {
      readonly profiles: readonly {
        readonly id: string
        /** More values may be added within v1: treat an unknown one as something new, not as an error. */
        readonly technology: 'lte' | 'nr' | (string & {})
        /** Downlink EARFCN or NR-ARFCN. */
        readonly channel: number
        readonly band: string | null
        readonly bandwidth_mhz: number
        readonly eirp_dbm: number | null
        readonly downlink: {
          readonly low_mhz: number
          readonly high_mhz: number
        } | null
        /** Null where the carrier has none. */
        readonly uplink: {
          readonly low_mhz: number
          readonly high_mhz: number
        } | null
        readonly armed: boolean
        /** What keeps it off the air now; empty: it may be armed. */
        readonly closed: readonly {
          /** More values may be added within v1: treat an unknown one as something new, not as an error. */
          readonly gate: 'country-code' | 'license' | 'allow-list' | (string & {})
          readonly reason: string
        }[]
      }[]
    }
    readonly code: CommonCode | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'rate_limited' | 'token_expired' | 'unauthenticated'
  }
  /** List the people who may log in, newest first. Roles: admin. */
  'GET /v1/users': {
    readonly request: {
      readonly query?: {
        /** Page size. */
        readonly limit?: number | undefined
        /** The next_cursor of the page before, with the same filters. Opaque. */
        readonly cursor?: string | undefined
      }
    }
    readonly answer: {
      readonly users: readonly {
        readonly id: string
        readonly name: string
        readonly roles: readonly string[]
        readonly created_at: string
        readonly last_login_at: string | null
        readonly recovery_codes_left: number
      }[]
      readonly next_cursor: string | null
    }
    readonly list: 'users'
    readonly code: CommonCode | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'invalid_cursor' | 'invalid_limit' | 'rate_limited' | 'token_expired' | 'unauthenticated'
  }
  /** Add a person who may log in. Roles: admin. */
  'POST /v1/users': {
    readonly request: {
      readonly body: {
        /** Letters, digits and . _ @ -. Capitals do not make another name. */
        readonly name: string
        readonly roles: readonly ('viewer' | 'operator' | 'sim:issuer' | 'sim:admin' | 'admin')[]
        readonly password?: string
      }
    }
    readonly answer: {
      readonly id: string
      readonly name: string
      readonly roles: readonly string[]
      readonly created_at: string
      readonly last_login_at: string | null
      readonly recovery_codes_left: number
      /** For the authenticator, as a QR code. Shown here and never again. */
      readonly totp_uri: string
      /** Ten, each good once in place of a code. Shown here and never again. */
      readonly recovery_codes: readonly string[]
      /** Only when it was drawn here. Shown here and never again. */
      readonly password?: string
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type' | 'user_exists'
  }
  /** Remove a person; all sessions, credentials and tokens open nothing from the next request on. Roles: admin. */
  'DELETE /v1/users/{id}': {
    readonly request: {
      readonly path: {
        readonly id: string
      }
      readonly query?: {
        /** Also when nobody is left then who is an administrator. */
        readonly force?: boolean | undefined
      }
    }
    readonly answer: undefined
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'last_admin' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type' | 'user_not_found'
  }
  /** List the client certificates of a user, newest first. Roles: admin. */
  'GET /v1/users/{id}/certificates': {
    readonly request: {
      readonly path: {
        readonly id: string
      }
      readonly query?: {
        /** Page size. */
        readonly limit?: number | undefined
        /** The next_cursor of the page before, with the same filters. Opaque. */
        readonly cursor?: string | undefined
      }
    }
    readonly answer: {
      readonly certificates: readonly {
        /** Hexadecimal, lower case, without leading zeros. */
        readonly serial: string
        /** The certificate says URI:svc://cli/<name>. */
        readonly name: string
        readonly label: string
        readonly expires_at: string
        readonly issued_at: string
        readonly revoked_at: string | null
        readonly created_by: {
          readonly kind: string
          readonly id: string
          readonly name: string
        }
      }[]
      readonly next_cursor: string | null
    }
    readonly list: 'certificates'
    readonly code: CommonCode | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'invalid_cursor' | 'invalid_limit' | 'rate_limited' | 'token_expired' | 'unauthenticated' | 'user_not_found'
  }
  /** Issue a client certificate for a user. Roles: admin. */
  'POST /v1/users/{id}/certificates': {
    readonly request: {
      readonly path: {
        readonly id: string
      }
      readonly body: {
        /** PKCS #10, PEM, ECDSA over P-256 with SHA-256. Its subject is ignored; one that asks to be a CA, or for a name that is not the user, is refused. The private key stays where it was made. */
        readonly csr_pem: string
        /** What to know it by in the list, e.g. the machine that it is on. */
        readonly label?: string
        /** A duration such as 30d, at most 397d; 90d when absent. */
        readonly expires_in?: string
      }
    }
    readonly answer: {
      /** Hexadecimal, lower case, without leading zeros. */
      readonly serial: string
      /** The certificate says URI:svc://cli/<name>. */
      readonly name: string
      readonly label: string
      readonly expires_at: string
      readonly certificate_pem: string
      /** The CA of this box, which signed it and what the box serves. */
      readonly ca_pem: string
    }
    readonly code: CommonCode | 'body_too_large' | 'capacity_exceeded' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type' | 'user_not_found'
  }
  /** Revoke a client certificate; it opens nothing from the next request on. Roles: admin. */
  'DELETE /v1/users/{id}/certificates/{serial}': {
    readonly request: {
      readonly path: {
        readonly id: string
        readonly serial: string
      }
    }
    readonly answer: undefined
    readonly code: CommonCode | 'body_too_large' | 'certificate_not_found' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** List the passkeys of a user, oldest first. Roles: admin. */
  'GET /v1/users/{id}/passkeys': {
    readonly request: {
      readonly path: {
        readonly id: string
      }
    }
    readonly answer: {
      readonly passkeys: readonly {
        readonly id: string
        readonly label: string
        /** The name of this box for which it works. */
        readonly host_name: string
        readonly created_at: string
        readonly last_used_at: string | null
        /** When its count told that there is a copy of it; it opens nothing since. */
        readonly disabled_at: string | null
      }[]
      readonly next_cursor: null
    }
    readonly code: CommonCode | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'rate_limited' | 'token_expired' | 'unauthenticated' | 'user_not_found'
  }
  /** Remove a passkey of a user; it opens nothing from then on. Roles: admin. */
  'DELETE /v1/users/{id}/passkeys/{passkey}': {
    readonly request: {
      readonly path: {
        readonly id: string
        readonly passkey: string
      }
    }
    readonly answer: undefined
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'passkey_not_found' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** Give a person another password, authenticator and recovery codes, and end every other way in. Roles: admin. */
  'POST /v1/users/{id}/reset': {
    readonly request: {
      readonly path: {
        readonly id: string
      }
      readonly body?: Readonly<Record<string, never>>
    }
    readonly answer: {
      readonly id: string
      readonly name: string
      readonly roles: readonly string[]
      readonly created_at: string
      readonly last_login_at: string | null
      readonly recovery_codes_left: number
      /** For the authenticator, as a QR code. Shown here and never again. */
      readonly totp_uri: string
      /** Ten, each good once in place of a code. Shown here and never again. */
      readonly recovery_codes: readonly string[]
      /** Only when it was drawn here. Shown here and never again. */
      readonly password?: string
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type' | 'user_not_found'
  }
  /** Set the roles of a person; one that is gone opens nothing from the next request on, by a token neither. Roles: admin. */
  'POST /v1/users/{id}/roles': {
    readonly request: {
      readonly path: {
        readonly id: string
      }
      readonly query?: {
        /** Also when nobody is left then who is an administrator. */
        readonly force?: boolean | undefined
      }
      readonly body: {
        readonly roles: readonly ('viewer' | 'operator' | 'sim:issuer' | 'sim:admin' | 'admin')[]
      }
    }
    readonly answer: {
      readonly id: string
      readonly name: string
      readonly roles: readonly string[]
      readonly created_at: string
      readonly last_login_at: string | null
      readonly recovery_codes_left: number
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'last_admin' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type' | 'user_not_found'
  }
  /** Give a person another authenticator and other recovery codes. Roles: admin. */
  'POST /v1/users/{id}/totp': {
    readonly request: {
      readonly path: {
        readonly id: string
      }
      readonly body?: Readonly<Record<string, never>>
    }
    readonly answer: {
      readonly id: string
      /** For the authenticator, as a QR code. Shown here and never again. */
      readonly totp_uri: string
      /** Ten, each good once in place of a code. Shown here and never again. */
      readonly recovery_codes: readonly string[]
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type' | 'user_not_found'
  }
  /** Invite a person to choose a password and scan an authenticator. Roles: admin. */
  'POST /v1/users/invitations': {
    readonly request: {
      readonly body: {
        /** Letters, digits and . _ @ -. Capitals do not make another name. */
        readonly name: string
        readonly roles: readonly ('viewer' | 'operator' | 'sim:issuer' | 'sim:admin' | 'admin')[]
        readonly expires_in?: string
      }
    }
    readonly answer: {
      readonly id: string
      readonly name: string
      readonly roles: readonly string[]
      readonly expires_at: string
      /** What accepts it, once. Shown here and never again. */
      readonly token: string
    }
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type' | 'user_exists'
  }
  /** List the invitations that can be accepted still. Roles: admin. */
  'GET /v1/users/invitations': {
    readonly request: {
      readonly query?: {
        /** Page size. */
        readonly limit?: number | undefined
        /** The next_cursor of the page before, with the same filters. Opaque. */
        readonly cursor?: string | undefined
      }
    }
    readonly answer: {
      readonly invitations: readonly {
        readonly id: string
        readonly name: string
        readonly roles: readonly string[]
        readonly expires_at: string
        readonly created_by: {
          readonly kind: string
          readonly id: string
          readonly name: string
        }
      }[]
      readonly next_cursor: string | null
    }
    readonly list: 'invitations'
    readonly code: CommonCode | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'invalid_cursor' | 'invalid_limit' | 'rate_limited' | 'token_expired' | 'unauthenticated'
  }
  /** Withdraw an invitation; it is good for nothing from the next request on. Roles: admin. */
  'DELETE /v1/users/invitations/{id}': {
    readonly request: {
      readonly path: {
        readonly id: string
      }
    }
    readonly answer: undefined
    readonly code: CommonCode | 'body_too_large' | 'certificate_revoked' | 'feature_not_installed' | 'forbidden' | 'idempotency_in_progress' | 'idempotency_key_reused' | 'invitation_not_found' | 'malformed_json' | 'rate_limited' | 'request_timeout' | 'token_expired' | 'unauthenticated' | 'unsupported_media_type'
  }
  /** What is running: service, API and plugins. Public. */
  'GET /v1/version': {
    readonly request: object
    readonly answer: {
      readonly version: string
      readonly api: 'v1'
      readonly commit: string | null
      readonly build_date: string | null
      readonly plugins: readonly {
        readonly name: string
        readonly version: string
        /** What it adds to the console. */
        readonly pages: readonly {
          readonly path: string
          /** By language. */
          readonly title: Readonly<Record<string, string>>
          readonly role: string
          readonly group?: string
          /** Where in its group: 10 is above 20. */
          readonly place?: number
          /** The script that draws it. */
          readonly module: string
        }[]
        /** What it shows on pages that are not its own. */
        readonly panels: readonly {
          readonly on: string
          readonly role: string
          /** The script that draws it. */
          readonly module: string
        }[]
      }[]
    }
    readonly code: CommonCode | 'rate_limited'
  }
}

/** Changes that take no `Idempotency-Key`: they are not safe to be sent again. */
export const UNKEYED: readonly string[] = [
  'POST /v1/auth/invitation',
  'POST /v1/auth/links/open',
  'POST /v1/auth/login',
  'POST /v1/auth/logout',
  'POST /v1/auth/passkey/options',
  'POST /v1/auth/passkey/verify',
  'POST /v1/auth/refresh',
  'POST /v1/mesh/renew',
]
