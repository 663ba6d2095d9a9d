import {
  type AnswerOf,
  Button,
  type Column,
  type ItemOf,
  Lamp,
  Said,
  SubscriberName,
  type Tone,
  t,
  word,
} from '@steeple/console/kit'

/** An activation code, without what opens something. */
export type Code = ItemOf<'/v1/esim/codes'>

/** What a phone scans: whoever has it can take the profile. The client asks for JSON, so that it is this of the answers of the route. */
export type Activation = Extract<AnswerOf<'GET', '/v1/esim/codes/{token}/qr'>, { readonly qr_text: string }>

/** States of a code, in the order of its life. */
export const CODE_STATES = [
  'allocated',
  'confirmed',
  'released',
  'downloaded',
  'installed',
  'error',
  'revoked',
  'expired',
] as const

/** Types of events that change codes. */
export const CODE_EVENTS: readonly string[] = ['esim.*', 'sim.revoke', 'sim.bulk', 'sim.forget']

const TONES: Readonly<Record<string, Tone>> = {
  released: 'on',
  downloaded: 'warn',
  installed: 'ok',
  error: 'bad',
  revoked: 'bad',
  closed: 'bad',
}

/** Whether a phone can still take its profile. */
export function isOpen({ state, closed }: Pick<Code, 'state' | 'closed'>): boolean {
  return !closed && (state === 'released' || state === 'downloaded')
}

/** Its state, or that a restore has closed it. */
export function stateOf({ state, closed }: Pick<Code, 'state' | 'closed'>): string {
  return closed ? 'closed' : state
}

/** The columns of a list of codes; `onShow` opens one. */
export function codeColumns(onShow: (code: Code) => void, isOfOne: boolean): readonly Column<Code>[] {
  const whose: Column<Code> = {
    text: 'sessions.sim',
    cell: ({ imsi_sha256_12: hash, label }) => <SubscriberName hash={hash} label={label} />,
  }
  return [
    {
      text: 'esim.code',
      cell: (code) => (
        <Button
          kind="quiet"
          onClick={() => onShow(code)}
          label={t('esim.code.show', { iccid: code.iccid_last4 })}
        >
          …{code.iccid_last4}
        </Button>
      ),
    },
    ...(isOfOne ? [] : [whose]),
    {
      text: 'sims.filter.state',
      cell: (code) => (
        <Lamp tone={TONES[stateOf(code)] ?? 'none'} label={word('esim.state', stateOf(code))} />
      ),
    },
    {
      text: 'esim.profile',
      isWide: true,
      cell: ({ profile, eid_last4: eid }) =>
        profile === null
          ? eid === null
            ? '–'
            : t('esim.profile.only', { eid })
          : t('esim.profile.at', { state: word('esim.profile', profile.state), eid: profile.eid_last4 }),
    },
    { text: 'esim.made', isWide: true, of: 'created_at', as: 'ago' },
    { text: 'sims.expires', isWide: true, of: 'expires_at', as: 'day' },
    { text: 'esim.trouble', isWide: true, cell: ({ last_error: error }) => <Said>{error ?? ''}</Said> },
  ]
}
