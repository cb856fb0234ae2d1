# A captcha module. The portal loads one even though no page has a captcha, and its own module requires ImageMagick.
package NoCaptcha;

use Mouse;

extends 'Lemonldap::NG::Common::Module';

sub init { 1 }

1;
