import type { ItemOf } from '@steeple/client'
import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { useAction } from '../../api/use-query.ts'
import { useRows } from '../../api/use-rows.ts'
import { t, word } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { Field } from '../../ui/field.tsx'
import { Lamp } from '../../ui/lamp.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { Progress } from '../../ui/progress.tsx'
import { saveFile } from '../../ui/save-file.ts'
import { Time } from '../../ui/time.tsx'
import { toast } from '../../ui/toast.tsx'
import { ImportCertsDialog } from './import-certs.tsx'

type Cert = ItemOf<'/v1/esim/certs'>
type Open = { readonly what: 'init' | 'import' } | { readonly what: 'remove'; readonly cert: Cert }

const keyOf = (cert: Cert): string => cert.id

/** What phones believe this box by. */
export function Certs() {
  const certs = useRows('/v1/esim/certs', {}, { keyOf, onAll: ['esim_cert.*'] })
  const [open, setOpen] = useState<Open | undefined>(undefined)
  const close = (): void => {
    setOpen(undefined)
    certs.reload()
  }
  return (
    <>
      <div class="toolbar">
        <Button onClick={() => setOpen({ what: 'import' })}>{t('esim.certs.import')}</Button>
        <Button onClick={() => setOpen({ what: 'init' })}>{t('esim.certs.init')}</Button>
      </div>
      {certs.error === undefined ? null : <ErrorNotice error={certs.error} onRetry={certs.reload} />}
      {certs.isLoading ? (
        <Progress label={t('app.loading')} />
      ) : (
        <DataTable
          label={t('esim.certs')}
          rows={certs.rows}
          columns={columns((cert) => setOpen({ what: 'remove', cert }))}
          keyOf={keyOf}
          empty={<EmptyState title={t('esim.certs.none')}>{t('esim.certs.none.help')}</EmptyState>}
          footer={certs.isMore ? <Button onClick={certs.more}>{t('ui.more')}</Button> : undefined}
        />
      )}
      {open?.what === 'init' ? <InitDialog onClose={close} /> : null}
      {open?.what === 'import' ? <ImportCertsDialog onClose={close} /> : null}
      {open?.what === 'remove' ? <RemoveDialog cert={open.cert} onClose={close} /> : null}
    </>
  )
}

function columns(onRemove: (cert: Cert) => void): readonly Column<Cert>[] {
  return [
    { key: 'role', title: t('esim.cert.role'), cell: ({ role }) => word('esim.cert.role', role) },
    {
      key: 'subject',
      title: t('esim.cert.subject'),
      cell: ({ subject }) => <span title={subject}>{nameIn(subject)}</span>,
    },
    { key: 'curve', title: t('esim.cert.curve'), isWide: true, cell: ({ curve }) => curve },
    { key: 'until', title: t('sims.expires'), cell: ({ not_after: at }) => <Time at={at} dateOnly /> },
    {
      key: 'use',
      title: t('sims.filter.state'),
      cell: ({ revoked, in_use: isUsed }) =>
        revoked ? (
          <Lamp tone="bad" label={t('sims.state.revoked')} />
        ) : (
          <Lamp tone={isUsed ? 'ok' : 'none'} label={t(isUsed ? 'esim.cert.used' : 'esim.cert.unused')} />
        ),
    },
    {
      key: 'do',
      title: t('esim.cert.do'),
      isWide: true,
      cell: (cert) => (
        <>
          <Button
            kind="quiet"
            label={t('esim.cert.save.of', { subject: nameIn(cert.subject) })}
            onClick={() => void savePem(cert)}
          >
            {t('esim.cert.save')}
          </Button>
          <Button
            kind="quiet"
            label={t('esim.cert.remove.of', { subject: nameIn(cert.subject) })}
            onClick={() => onRemove(cert)}
          >
            {t('esim.cert.remove')}
          </Button>
        </>
      ),
    },
  ]
}

/** The common name, which tells certificates apart; all of it stands behind. */
function nameIn(subject: string): string {
  return /(?:^|, ?)CN=([^,]+)/.exec(subject)?.[1] ?? subject
}

async function savePem({ id, role }: Cert): Promise<void> {
  const answer = await api.get('/v1/esim/certs/{id}', { path: { id } })
  if (answer.ok) saveFile(`${role}-${id.slice(0, 8)}.pem`, answer.data.pem, 'application/x-pem-file')
  else toast({ text: answer.error.message, tone: 'bad' })
}

function InitDialog({ onClose }: { readonly onClose: () => void }) {
  const [host, setHost] = useState('')
  const init = useAction(() => api.post('/v1/esim/certs/init', { body: host === '' ? {} : { host } }))
  const confirm = async (): Promise<void> => {
    if ((await init.run())?.ok === true) onClose()
  }
  return (
    <ConfirmDialog
      isOpen
      title={t('esim.certs.init')}
      confirm={t('esim.certs.init.go')}
      isBusy={init.isBusy}
      error={init.error}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <p>{t('esim.certs.init.what')}</p>
      <Field label={t('esim.certs.host')} help={t('esim.certs.host.help')} value={host} onInput={setHost} />
    </ConfirmDialog>
  )
}

function RemoveDialog({ cert, onClose }: { readonly cert: Cert; readonly onClose: () => void }) {
  const remove = useAction(() => api.delete('/v1/esim/certs/{id}', { path: { id: cert.id } }))
  const confirm = async (): Promise<void> => {
    if ((await remove.run())?.ok === true) onClose()
  }
  return (
    <ConfirmDialog
      isOpen
      title={t('esim.cert.remove.title', { subject: cert.subject })}
      confirm={t('esim.cert.remove')}
      isDanger
      isBusy={remove.isBusy}
      error={remove.error}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <p>{t(cert.in_use ? 'esim.cert.remove.used' : 'esim.cert.remove.what')}</p>
    </ConfirmDialog>
  )
}
