import type { AnswerOf } from '@steeple/client'
import { named, t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { Lamp } from '../../ui/lamp.tsx'
import { Time } from '../../ui/time.tsx'

type Passkey = AnswerOf<'GET', '/v1/auth/passkeys'>['passkeys'][number]

/** Passkeys of a person, each with a way to remove it. */
export function PasskeyList({
  passkeys,
  onRemove,
}: {
  readonly passkeys: readonly Passkey[]
  readonly onRemove: (passkey: Passkey) => void
}) {
  const columns: readonly Column<Passkey>[] = [
    { key: 'label', title: t('people.name'), cell: ({ label }) => label },
    { key: 'host', title: t('people.passkey.host'), cell: ({ host_name }) => host_name, isWide: true },
    {
      key: 'made',
      title: t('people.since'),
      cell: ({ created_at }) => <Time at={created_at} dateOnly />,
      isWide: true,
    },
    {
      key: 'used',
      title: t('people.token.used'),
      cell: ({ last_used_at: at, disabled_at }) =>
        disabled_at !== null ? (
          <Lamp tone="bad" label={t('people.passkey.disabled')} />
        ) : at === null ? (
          t('people.never')
        ) : (
          <Time at={at} relative />
        ),
    },
    {
      key: 'do',
      title: t('people.actions'),
      cell: (one) => (
        <Button
          kind="quiet"
          label={named(t('people.passkey.remove'), one.label)}
          onClick={() => onRemove(one)}
        >
          {t('people.passkey.remove')}
        </Button>
      ),
    },
  ]
  return (
    <DataTable
      label={t('people.passkeys')}
      rows={passkeys}
      columns={columns}
      keyOf={({ id }) => id}
      empty={<p>{t('people.passkeys.none')}</p>}
    />
  )
}
