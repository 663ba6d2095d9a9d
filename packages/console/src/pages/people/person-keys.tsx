import type { ItemOf } from '@steeple/client'
import { api } from '../../api/client.ts'
import { useAction, useQuery } from '../../api/use-query.ts'
import { t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { Loaded } from '../../ui/loaded.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { Time } from '../../ui/time.tsx'
import { toast } from '../../ui/toast.tsx'
import { PasskeyList } from './passkey-list.tsx'
import type { User } from './user.ts'

/** Passkeys and certificates of a person. */
export function PersonKeys({ user }: { readonly user: User }) {
  const { id } = user
  const passkeys = useQuery('/v1/users/{id}/passkeys', { path: { id } }, { on: ['passkey.*', 'user.*'] })
  const remove = useAction((passkey: string) =>
    api.delete('/v1/users/{id}/passkeys/{passkey}', { path: { id, passkey } }),
  )
  const run = async (passkey: string): Promise<void> => {
    if ((await remove.run(passkey))?.ok !== true) return
    toast({ text: t('people.passkey.removed') })
    passkeys.reload()
  }
  return (
    <>
      <section class="card" aria-label={t('people.passkeys')}>
        <h2>{t('people.passkeys')}</h2>
        {remove.error === undefined ? null : <ErrorNotice error={remove.error} />}
        <Loaded query={passkeys}>
          {(known) => <PasskeyList passkeys={known.passkeys} onRemove={(one) => void run(one.id)} />}
        </Loaded>
      </section>
      <Certificates id={id} />
    </>
  )
}

type Certificate = ItemOf<'/v1/users/{id}/certificates'>

function Certificates({ id }: { readonly id: string }) {
  const certificates = useQuery('/v1/users/{id}/certificates', { path: { id } }, { on: ['user.*'] })
  const revoke = useAction((serial: string) =>
    api.delete('/v1/users/{id}/certificates/{serial}', { path: { id, serial } }),
  )
  const run = async (serial: string): Promise<void> => {
    if ((await revoke.run(serial))?.ok === true) certificates.reload()
  }
  return (
    <section class="card" aria-label={t('people.certificates')}>
      <h2>{t('people.certificates')}</h2>
      {revoke.error === undefined ? null : <ErrorNotice error={revoke.error} />}
      <Loaded query={certificates}>
        {(known) => (
          <DataTable
            label={t('people.certificates')}
            rows={known.certificates}
            columns={columns((serial) => void run(serial))}
            keyOf={({ serial }) => serial}
            empty={
              <p>
                {t('people.certificates.none')} <code>svc user cert</code>
              </p>
            }
          />
        )}
      </Loaded>
    </section>
  )
}

function columns(onRevoke: (serial: string) => void): readonly Column<Certificate>[] {
  return [
    { key: 'label', title: t('people.name'), cell: ({ label, serial }) => label || serial.slice(0, 12) },
    { key: 'until', title: t('people.until'), cell: ({ expires_at }) => <Time at={expires_at} relative /> },
    {
      key: 'do',
      title: t('people.actions'),
      cell: ({ serial, label, revoked_at }) =>
        revoked_at === null ? (
          <Button
            kind="quiet"
            label={`${t('people.certificate.revoke')}: ${label || serial.slice(0, 12)}`}
            onClick={() => onRevoke(serial)}
          >
            {t('people.certificate.revoke')}
          </Button>
        ) : (
          t('people.certificate.revoked')
        ),
    },
  ]
}
