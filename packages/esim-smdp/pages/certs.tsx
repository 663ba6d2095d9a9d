import {
  api,
  Button,
  type Column,
  DialogButton,
  EmptyState,
  Field,
  type ItemOf,
  Lamp,
  PagedTable,
  saveFile,
  t,
  toast,
  usePages,
  useState,
  word,
} from '@steeple/console/kit'

type Cert = ItemOf<'/v1/esim/certs'>

/** What phones believe this box by. */
export function Certs() {
  const certs = usePages('/v1/esim/certs', {}, ['esim_cert.*'])
  return (
    <>
      <div class="toolbar">
        <Import onDone={certs.reload} />
        <Init onDone={certs.reload} />
      </div>
      <PagedTable
        query={certs}
        label={t('esim.certs')}
        columns={columns(certs.reload)}
        keyOf={({ id }) => id}
        empty={<EmptyState title={t('esim.certs.none')}>{t('esim.certs.none.help')}</EmptyState>}
      />
    </>
  )
}

function columns(reload: () => void): readonly Column<Cert>[] {
  return [
    { text: 'esim.cert.role', cell: ({ role }) => word('esim.cert.role', role) },
    { text: 'esim.cert.subject', cell: ({ subject }) => <span title={subject}>{nameIn(subject)}</span> },
    { text: 'esim.cert.curve', isWide: true, of: 'curve' },
    { text: 'sims.expires', of: 'not_after', as: 'day' },
    {
      text: 'sims.filter.state',
      cell: ({ revoked, in_use: isUsed }) =>
        revoked ? (
          <Lamp tone="bad" label={t('sims.state.revoked')} />
        ) : (
          <Lamp tone={isUsed ? 'ok' : 'none'} label={t(isUsed ? 'esim.cert.used' : 'esim.cert.unused')} />
        ),
    },
    {
      text: 'esim.cert.do',
      cell: (cert) => (
        <span class="row-actions">
          <Button
            kind="quiet"
            label={t('esim.cert.save.of', { subject: nameIn(cert.subject) })}
            onClick={() => void savePem(cert)}
          >
            {t('esim.cert.save')}
          </Button>
          <DialogButton
            button={{ kind: 'quiet', label: t('esim.cert.remove.of', { subject: nameIn(cert.subject) }) }}
            text="esim.cert.remove"
            values={{ subject: cert.subject }}
            what={t(cert.in_use ? 'esim.cert.remove.used' : 'esim.cert.remove.what')}
            isDanger
            act={() => api.delete('/v1/esim/certs/{id}', { path: { id: cert.id } })}
            onDone={reload}
          />
          <Belief cert={cert} reload={reload} />
        </span>
      ),
    },
  ]
}

/** Takes one back, or that back; an issuer stands for itself. */
function Belief({ cert, reload }: { readonly cert: Cert; readonly reload: () => void }) {
  const { id } = cert
  const subject = nameIn(cert.subject)
  const restore = async (): Promise<void> => {
    const answer = await api.post('/v1/esim/certs/revoke', { body: { id, restore: true } })
    if (answer.ok) toast({ text: t('esim.cert.restored', { subject }) })
    else toast({ text: answer.error.message, tone: 'bad' })
    reload()
  }
  if (cert.role === 'ci') return null
  if (cert.revoked)
    return (
      <Button kind="quiet" label={t('esim.cert.restore.of', { subject })} onClick={() => void restore()}>
        {t('esim.cert.restore')}
      </Button>
    )
  return (
    <DialogButton
      button={{ kind: 'quiet', label: t('esim.cert.revoke.of', { subject }) }}
      text="esim.cert.revoke"
      values={{ subject }}
      isDanger
      act={() => api.post('/v1/esim/certs/revoke', { body: { id } })}
      onDone={() => {
        toast({ text: t('esim.cert.revoked', { subject }), undo: () => void restore() })
        reload()
      }}
    />
  )
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

function Init({ onDone }: { readonly onDone: () => void }) {
  const [host, setHost] = useState('')
  return (
    <DialogButton
      text="esim.certs.init"
      act={() => api.post('/v1/esim/certs/init', { body: host === '' ? {} : { host } })}
      onDone={onDone}
    >
      <Field text="esim.certs.host" value={host} onInput={setHost} />
    </DialogButton>
  )
}

/** Takes certificates and their keys from files, all or none. */
function Import({ onDone }: { readonly onDone: () => void }) {
  const [files, setFiles] = useState<readonly File[]>([])
  return (
    <DialogButton
      text="esim.certs.import"
      isDisabled={files.length === 0}
      act={async () =>
        api.post('/v1/esim/certs/import', { body: { files: await Promise.all(files.map(contentOf)) } })
      }
      done={({ certs }) => t('esim.certs.imported', { count: certs.length })}
      onDone={() => {
        setFiles([])
        onDone()
      }}
    >
      <div class="field">
        <label for="certs-files">{t('esim.certs.files')}</label>
        <input
          id="certs-files"
          type="file"
          multiple
          accept=".pem,.der,.key,.crt,.cer,.crl"
          onChange={(event) => setFiles([...(event.currentTarget.files ?? [])])}
        />
      </div>
    </DialogButton>
  )
}

/** PEM and DER alike, as the service takes both. */
async function contentOf(file: File): Promise<{ readonly name: string; readonly base64: string }> {
  const octets = new Uint8Array(await file.arrayBuffer())
  return { name: file.name, base64: btoa(Array.from(octets, (octet) => String.fromCharCode(octet)).join('')) }
}
