/** What each code of an error means to a person; the service's own words stand below it. */
export const problemsEn = {
  'problem.answer_of_another':
    'Something between this page and the box has answered in its place, a proxy for instance.',
  'problem.connection_lost':
    'The box could not be reached. What you asked for may have been done: look before you repeat it.',
  'problem.no_answer_in_time':
    'The box has not answered in time. What you asked for may have been done: look before you repeat it.',
  'problem.not_modified': 'Nothing has changed.',
  'problem.alert_not_found': 'This alert is not kept any more.',
  'problem.alert_state_conflict': 'The alert is over: there is nothing left to take care of.',
  'problem.backup_decrypt_failed':
    'The backup cannot be opened: the passphrase is another one, or the file is damaged.',
  'problem.backup_invalid': 'This file cannot be restored as a backup of a box.',
  'problem.backup_version_unsupported': 'The backup was made by a version that this one cannot read.',
  'problem.body_too_large': 'What was sent is too large. Send less at once.',
  'problem.bootstrap_token_invalid': 'The invitation of that box is unknown, used or over. Make another one.',
  'problem.capacity_exceeded': 'There is no room for more of this.',
  'problem.certificate_not_found': 'There is no such certificate any more.',
  'problem.certificate_revoked': 'Your certificate is revoked or over. Have another one made.',
  'problem.esim_cert_conflict': 'That is not possible with the eSIM certificates as they are.',
  'problem.esim_cert_not_found': 'There is no such eSIM certificate any more.',
  'problem.esim_code_conflict': 'This SIM can have no code now, or the code is over.',
  'problem.esim_code_not_found': 'There is no such eSIM code any more.',
  'problem.esim_disabled': 'eSIM is switched off on this box.',
  'problem.esim_not_ready': 'eSIM is not fully set up: an address, certificates or a template are missing.',
  'problem.feature_not_installed': 'This box does not have the part that this needs.',
  'problem.forbidden': 'Your role does not allow this. Somebody with the role that is named can do it.',
  'problem.headers_too_large':
    'The browser has sent more about itself than the box takes. Close other tabs of it, or delete its cookies.',
  'problem.idempotency_in_progress': 'The same was asked for a moment ago and still runs. Wait a little.',
  'problem.idempotency_key_reused': 'This was sent before with something else in it. Try again.',
  'problem.internal': 'Something went wrong inside the box. Its log has the number of the request.',
  'problem.invalid_cursor': 'The list has changed too much to go on in it. Load it anew.',
  'problem.invalid_limit': 'That many rows cannot be had at once.',
  'problem.invalid_transition': 'The box is not in the state that this begins with.',
  'problem.invitation_invalid': 'This invitation is unknown, used or over. Ask for another one.',
  'problem.invitation_not_found': 'There is no such invitation any more.',
  'problem.last_admin': 'Nobody would be an administrator then.',
  'problem.link_invalid':
    'This link is unknown, used or over. Each opens the console once: ask for another one.',
  'problem.login_failed': 'Name, password or code is not right. Look whether the code is the one of now.',
  'problem.malformed_json': 'The box could not read what was sent.',
  'problem.method_not_allowed': 'The box does not do that there.',
  'problem.node_not_found': 'There is no such box any more.',
  'problem.node_state_conflict': 'The box is in a state that does not allow this.',
  'problem.not_found': 'There is no such thing, or not any more.',
  'problem.not_ready': 'The box is not ready for this yet. Try again in a moment.',
  'problem.passkey_not_found': 'There is no such passkey any more.',
  'problem.link_not_found': 'There is no such link any more.',
  'problem.passkey_unavailable': 'No passkey can be used or made here.',
  'problem.peer_exists': 'Another linked box has this name or key.',
  'problem.peer_not_found': 'There is no such linked box any more.',
  'problem.peer_untrusted':
    'The other box is not the one that it says it is. Do not link it before you know why.',
  'problem.person_needed': 'Only who has signed in by name can do this.',
  'problem.plmn_mismatch': 'This SIM is of another network than this box.',
  'problem.plugin_not_found': 'There is no such plugin any more.',
  'problem.plugin_state_conflict': 'The plugin cannot do this as things stand.',
  'problem.policy_conflict': 'Somebody else has changed the rules meanwhile. Nothing was overwritten.',
  'problem.quota_not_set': 'This SIM has no quota to be topped up.',
  'problem.usage_implausible': 'That box cannot know of this usage.',
  'problem.rate_limited': 'That was too much in too short a time. Wait a little and try again.',
  'problem.report_id_reused': 'This usage was reported before, with other figures.',
  'problem.request_timeout': 'What was sent took too long to arrive. Try again.',
  'problem.session_not_found': 'There is no such session any more.',
  'problem.settings_fixed': 'This setting is decided elsewhere and cannot be changed from here.',
  'problem.sim_exists': 'There is a SIM with that number already.',
  'problem.sim_not_found': 'There is no such SIM any more.',
  'problem.sim_state_conflict': 'The SIM is in a state from which this cannot be done.',
  'problem.sim_swap_cooldown':
    'This subscriber has got another SIM a short time ago. Wait as long as the rules say.',
  'problem.southbound_unavailable': 'The core, its subscriber database or the radio does not answer.',
  'problem.stale_change': 'Somebody else has changed this meanwhile. Nothing was overwritten.',
  'problem.store_corrupt': 'Something that was stored is damaged. Restore a backup.',
  'problem.store_unavailable': 'The box cannot store anything now. Look whether its disk is full.',
  'problem.token_expired': 'This token or session is over. Sign in again, or have another token made.',
  'problem.token_not_found': 'There is no such token any more.',
  'problem.tx_gate_closed': 'The box may not transmit yet: something that it needs for that is missing.',
  'problem.tx_not_armed': 'The transmitter has to be armed first.',
  'problem.unauthenticated':
    'The box does not know you by that. Sign in, or look whether the token is whole.',
  'problem.unsupported_media_type': 'The box does not take files of this kind here.',
  'problem.user_exists': 'Somebody has this name already.',
  'problem.user_not_found': 'There is no such person any more.',
  'problem.validation_failed': 'Something of what was entered is not as the box needs it:',
  'problem.webhook_not_found': 'There is no such receiver in the configuration.',
} as const

declare module './index.ts' {
  interface AreaTexts {
    readonly problems: typeof problemsEn
  }
}
