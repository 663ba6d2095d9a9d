import type { AnswerOf } from '@steeple/client'
import { t } from '../../text/index.ts'
import { RowButton } from '../../ui/button.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { Lamp } from '../../ui/parts.tsx'
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
    { text: 'people.name', of: 'label' },
    { text: 'people.passkey.host', of: 'host_name', isWide: true },
    { text: 'people.since', of: 'created_at', as: 'day', isWide: true },
    {
      text: 'people.token.used',
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
      text: 'people.actions',
      cell: (one) => <RowButton text="people.passkey.remove" of={one.label} onClick={() => onRemove(one)} />,
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
