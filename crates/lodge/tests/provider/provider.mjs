// A real OpenID provider for the tests, with its own login and consent pages. It prints its issuer when it is
// ready. The username at sign-in selects a fault: the provider then issues a token that a correct provider
// would never issue.
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';

import { decodeJwt, SignJWT, UnsecuredJWT } from 'jose';
import Provider from 'oidc-provider';

const [port, secret] = [Number(process.argv[2] ?? 0), process.env.CLIENT_SECRET];
const key = () => generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
const [own, foreign, kid] = [key(), key(), randomUUID()];

const client = (id, method) => ({
  client_id: id,
  client_secret: secret,
  token_endpoint_auth_method: method,
  grant_types: ['authorization_code'],
  response_types: ['code'],
  // A native client may use any port (RFC 8252, section 7.3); the server under test has a random one.
  application_type: 'native',
  redirect_uris: ['open', 'plain', 'posted'].map((name) => `http://127.0.0.1/login/by/${name}/callback`),
});

const rsa = (claims, signer) => new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid }).sign(signer);
const altered = {
  'wrong-audience': (claims) => rsa({ ...claims, aud: 'another' }, own),
  'two-audiences': (claims) => rsa({ ...claims, aud: [claims.aud, 'another'] }, own),
  'wrong-issuer': (claims) => rsa({ ...claims, iss: 'https://id.example.org' }, own),
  'expired': (claims) => rsa({ ...claims, exp: claims.iat - 1 }, own),
  'wrong-nonce': (claims) => rsa({ ...claims, nonce: 'another' }, own),
  'no-nonce': ({ nonce, ...claims }) => rsa(claims, own),
  'wrong-key': (claims) => rsa(claims, foreign),
  'unsigned': (claims) => new UnsecuredJWT(claims).encode(),
  'signed-with-the-secret': (claims) =>
    new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(new TextEncoder().encode(secret)),
  'remembered': (claims) => rsa({ ...claims, auth_time: claims.iat - 3600 }, own),
  'slow': () => new Promise(() => {}),
};

const { TLS_KEY, TLS_CERTIFICATE } = process.env;
const tls = TLS_KEY && { key: readFileSync(TLS_KEY), cert: readFileSync(TLS_CERTIFICATE) };
const server = tls ? createTlsServer(tls) : createServer();
server.listen(port, '127.0.0.1', () => {
  const issuer = `${tls ? 'https' : 'http'}://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [client('lodge', 'client_secret_basic'), client('posted', 'client_secret_post')],
    jwks: { keys: [{ ...own.export({ format: 'jwk' }), kid, use: 'sig', alg: 'RS256' }] },
    cookies: { keys: [randomUUID()] },
    claims: { openid: ['sub'], profile: ['preferred_username'], email: ['email', 'email_verified'] },
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({ sub: id, preferred_username: id, email: 'ada@example.org', email_verified: true }),
    }),
  });
  // The issued tokens, for a test that they do not leak.
  const issued = [];
  provider.use(async (context, next) => {
    if (context.path === '/issued') {
      context.body = issued;
      return;
    }
    await next();
    // Remove the font that the provider's pages load from another site.
    if (typeof context.body === 'string') context.body = context.body.replace(/@import [^;]+;/, '');
    if (context.path === '/token' && context.body?.access_token) {
      issued.push(context.body.access_token, context.body.id_token);
    }
    const token = context.path === '/token' && context.body?.id_token;
    const claims = token && decodeJwt(token);
    const alter = claims && altered[claims.sub];
    if (alter) context.body = { ...context.body, id_token: await alter(claims) };
  });
  server.on('request', provider.callback());
  console.log(issuer);
});
